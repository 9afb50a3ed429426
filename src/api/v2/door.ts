import { accountJobId, registrationJobId } from "#api/v2/job-id.ts";
import type { Door } from "#use-case/use-case.ts";

export const v2Door: Door = {
  lookAgainHeader: "retry-after",
  registrationPath: (orderCode) => `/provisioningjobs/${registrationJobId(orderCode)}`,
  hostingAccountPath: (identifier) => `/linuxhostings/${identifier}`,
  hostingCreationPath: ({ id }) => `/provisioningjobs/${accountJobId(id)}`,
};
