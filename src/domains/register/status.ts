import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { isFinal, orderStatuses } from "#domains/orders/states.ts";
import { unknownOrder } from "#domains/orders/unknown-order.ts";
import { medianSeconds, usualSeconds } from "#domains/register/name-facts.ts";
import { ApiError } from "#errors.ts";
import { type OrderCode, parseOrderCode } from "#lib/order-code.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { textLike } from "#use-case/docs.ts";
import type { UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { waitApplied } from "#use-case/wait-applied.ts";

// By the code alone: a plan for a small table would read all orders of the reseller.
const orderByCode = statement(
  "order-by-code",
  `SELECT order_code, domain_name, status, created_at, ended_at, registry_id,
          CASE WHEN ended_at IS NULL THEN ${medianSeconds("o.suffix")} END AS median_seconds
   FROM orders AS o WHERE order_code = $order_code AND kind = 'create' AND reseller_id IS NOT DISTINCT FROM $reseller_id`,
  {
    order_code: "text",
    domain_name: "text",
    status: orderStatuses,
    created_at: "timestamptz",
    ended_at: "timestamptz?",
    registry_id: "text",
    median_seconds: "int4?",
  },
);

/**
 * The caller's order, once its status has changed if the request waits for that.
 * @returns with the seconds until it is usually final; undefined when it is final
 * @throws ApiError `order_not_found`
 */
export async function readOrder(context: Context, request: UseCaseRequest, code: OrderCode) {
  const read = async () => {
    const [order] = await context.database.point(orderByCode, {
      order_code: code,
      reseller_id: request.caller.resellerId,
    });
    if (!order) throw await unknownOrder(context);
    return order;
  };
  let order = await read();
  if (request.waitSeconds > 0 && !isFinal(order.status)) {
    const seen = order.status;
    order = await waitForNotification(context, "order_changed", code, {
      read,
      isAwaited: (now) => now.status !== seen,
      waitMs: request.waitSeconds * 1000,
      signal: request.signal(),
    });
  }
  const elapsedSeconds = (context.clock.now().getTime() - order.created_at.getTime()) / 1000;
  const usual = usualSeconds(context, order.registry_id, order.median_seconds);
  return { order, secondsLeft: isFinal(order.status) ? undefined : usual - elapsedSeconds };
}

const statusShape = Type.Object(
  { order_code: textLike("REG-G43VRN9P-AV8"), status: Type.Enum(orderStatuses) },
  { title: "RegistrationStatus" },
);

/** GET /domains/registrations/<order_code>; `Prefer: wait=N` holds the answer until the status changes. */
export const orderStatus: UseCase = {
  errors: ["bad_request", "order_not_found", "service_unavailable"],
  scope: "domains:read",
  docs: {
    operation: "readRegistration",
    summary: "Reads the status of a registration.",
    description: "`Prefer: wait=N` holds the answer until the status changes.",
    answers: {
      200: { description: "The status.", body: statusShape, headers: ["check-after?", "preference-applied?"] },
    },
  },

  async handle(context, request) {
    const code = parseOrderCode(request.params.order_code ?? "", "REG");
    if (code === undefined) {
      const text = "An order code has the form REG-XXXXXXXX-XXX; use the location of the registration's answer.";
      throw new ApiError("bad_request", {
        text,
        validationErrors: [{ error_code: "invalid", error_text: text, field: "order_code" }],
      });
    }
    const { order, secondsLeft } = await readOrder(context, request, code);
    const body: Static<typeof statusShape> = { order_code: order.order_code, status: order.status };
    return {
      status: 200,
      headers: {
        ...waitApplied(request),
        ...(secondsLeft !== undefined && { "check-after": checkAfter(secondsLeft) }),
      },
      body,
    };
  },
};
