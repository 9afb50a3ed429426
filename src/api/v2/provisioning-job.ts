import Type, { type Static } from "typebox";
import { presentSecond, wholeSecond } from "#api/v2/instant.ts";
import { parseJobId } from "#api/v2/job-id.ts";
import type { Context } from "#context.ts";
import type { OrderStatus } from "#domains/orders/states.ts";
import { readOrder } from "#domains/register/status.ts";
import { ApiError } from "#errors.ts";
import { type AccountDetails, findAccountById, followAccount } from "#hosting/accounts/read.ts";
import type { OrderCode } from "#lib/order-code.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { textLike } from "#use-case/docs.ts";
import { requireScope } from "#use-case/scope.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { waitApplied } from "#use-case/wait-applied.ts";

type JobStatus = "ongoing" | "failed" | "cancelled" | "finished";

interface JobState {
  status: JobStatus;
  /** What was created, below the request's prefix. */
  path: string;
  /** Until it is usually over; undefined when it is. */
  secondsLeft: number | undefined;
  /** When it was over; null when it is not. */
  endedAt: Date | null;
}

const openShape = Type.Object(
  {
    id: textLike("01000000-0000-8000-80a1-b2c3d4e5f607"),
    status: Type.Enum(["ongoing", "failed", "cancelled"]),
    completion: Type.Object({
      estimate: Type.String({ ...wholeSecond, description: "When it will usually be over, or when it was." }),
    }),
  },
  { title: "OpenJob" },
);
const finishedShape = Type.Object(
  {
    id: textLike("02000000-0000-8000-8000-0000000f3e59"),
    status: Type.Literal("finished"),
    resource_links: Type.Array(textLike("/v2/accounts/999001"), { description: "What was created." }),
  },
  { title: "FinishedJob" },
);

/**
 * GET /v2/provisioningjobs/<id>: 200 until something is created, then 201; `Prefer: wait=N` holds the answer until the
 * status changes.
 */
export const readProvisioningJob: UseCase = {
  errors: ["bad_request", "order_not_found"],
  scope: ["domains:read", "hosting:read"],
  docs: {
    operation: "readProvisioningJob",
    summary: "Reads whether an order has created its domain, or its account.",
    description:
      "It needs the scope that fits what is created. `Prefer: wait=N` holds the answer until the status changes.",
    answers: {
      200: {
        description: "Nothing is created yet.",
        body: openShape,
        headers: ["retry-after?", "preference-applied?"],
      },
      201: {
        description: "It is created; `location` is its path.",
        body: finishedShape,
        headers: ["location", "preference-applied?"],
      },
    },
  },

  async handle(context, request) {
    const id = request.params.job_id ?? "";
    const job = parseJobId(id);
    if (!job) throw notAnId();
    requireScope(request.caller, job.kind === "registration" ? "domains:read" : "hosting:read");
    const state =
      job.kind === "registration"
        ? await registrationState(context, request, job.code)
        : await accountState(context, request, job.accountId);
    return present(context, request, id, state);
  },
};

function notAnId(): ApiError {
  const text = "This is not the id of a provisioning job; use the location of the answer that began it.";
  return new ApiError("bad_request", {
    text,
    validationErrors: [{ error_code: "invalid", error_text: text, field: "job_id" }],
  });
}

const jobStatuses: Record<OrderStatus, JobStatus> = {
  NotProvisioned: "ongoing",
  Processing: "ongoing",
  Pending: "ongoing",
  Finished: "finished",
  Errors: "failed",
  FailedValidation: "failed",
  Cancelled: "cancelled",
};

async function registrationState(context: Context, request: UseCaseRequest, code: OrderCode): Promise<JobState> {
  const { order, secondsLeft } = await readOrder(context, request, code);
  const status = jobStatuses[order.status];
  return { status, path: `/domains/${order.domain_name}`, secondsLeft, endedAt: order.ended_at };
}

async function accountState(context: Context, request: UseCaseRequest, accountId: number): Promise<JobState> {
  const { account, secondsLeft } = await followAccount(context, request, async () => {
    const found = await findAccountById(context, request, accountId);
    if (found.length === 0) throw new ApiError("order_not_found");
    return found;
  });
  const status = creationStatus(account);
  const endedAt = status === "ongoing" ? null : (account.ready_at ?? account.updated_at);
  return { status, path: `/accounts/${account.id}`, secondsLeft, endedAt };
}

/** An account that was removed later was created nevertheless. */
function creationStatus({ status, ready_at, error_text }: AccountDetails): JobStatus {
  if (ready_at) return "finished";
  if (status === "Provisioning") return "ongoing";
  return error_text === null ? "cancelled" : "failed";
}

function present(context: Context, request: UseCaseRequest, id: string, state: JobState): Answer {
  const { status, secondsLeft, endedAt } = state;
  const applied = waitApplied(request);
  if (status === "finished") {
    const path = `${request.prefix}${state.path}`;
    const body: Static<typeof finishedShape> = { id, status, resource_links: [path] };
    return { status: 201, headers: { ...applied, location: path }, body };
  }
  const seconds = checkAfter(secondsLeft ?? 0);
  const estimate = endedAt ?? new Date(context.clock.now().getTime() + Number(seconds) * 1000);
  const body: Static<typeof openShape> = { id, status, completion: { estimate: presentSecond(estimate) } };
  return { status: 200, headers: { ...applied, ...(status === "ongoing" && { "retry-after": seconds }) }, body };
}
