import Type from "typebox";
import { switchRenewal } from "#domains/schedule/switch.ts";
import { ApiError } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

const requestBody = Type.Object({ will_renew: Type.Boolean({ examples: [false] }) });

/** A renewal in progress is decided within seconds, unless the registry takes longer. */
const underWayRetrySeconds = 60;

/** PUT /domains/<domain_name>/renew: switches the renewal on or off; a repeat answers 204 too. */
export const setWillRenew: UseCase = {
  errors: ["bad_request", "domain_not_valid", "domain_not_found", "domain_renewal_underway"],
  scope: "domains:renew",
  docs: {
    operation: "setWillRenew",
    summary: "Sets whether a name renews at the end of its term.",
    body: requestBody,
    answers: { 204: { description: "It is set; a repeat gets the same answer." } },
  },

  async handle(context, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    const { will_renew: willRenew } = parseBody(requestBody, request.rawBody);
    const { resellerId, keyId } = request.caller;
    const answer = { status: 204 };
    await context.database.transaction(async (tx) => {
      const change = { name, resellerId, willRenew, note: `by key ${keyId}` };
      const result = await switchRenewal(context, tx, change);
      if (result === "unknown") throw new ApiError("domain_not_found");
      if (result === "under-way") {
        throw new ApiError("domain_renewal_underway", { headers: { "retry-after": String(underWayRetrySeconds) } });
      }
      await request.commit(tx, answer);
    });
    return answer;
  },
};
