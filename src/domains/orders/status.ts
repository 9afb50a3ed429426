import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { isFinal, orderStatuses } from "#domains/orders/states.ts";
import { medianSeconds } from "#domains/orders/usual-duration.ts";
import { ApiError } from "#errors.ts";
import { parseOrderCode } from "#lib/order-code.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { UseCase } from "#use-case/use-case.ts";

const orderByCode = statement(
  "order-by-code",
  `SELECT order_code, status, created_at,
          CASE WHEN ended_at IS NULL THEN ${medianSeconds("o.suffix")} END AS median_seconds
   FROM registration_orders AS o WHERE order_code = $order_code AND reseller_id = $reseller_id`,
  { order_code: "text", status: orderStatuses, created_at: "timestamptz", median_seconds: "int4?" },
);

/** GET /domains/registrations/<order_code>; `Prefer: wait=N` holds the answer until the status changes. */
export const orderStatus: UseCase = {
  errors: ["bad_request", "order_not_found", "service_unavailable"],
  scope: "domains:read",

  async handle(context, request) {
    const code = parseOrderCode(request.params.order_code ?? "");
    if (code === undefined) {
      const text = "An order code has the form REG-XXXXXXXX-XXX; use the location of the registration's answer.";
      throw new ApiError("bad_request", {
        text,
        validationErrors: [{ error_code: "invalid", error_text: text, field: "order_code" }],
      });
    }
    const read = async () => {
      const [order] = await context.database.point(orderByCode, {
        order_code: code,
        reseller_id: request.caller.resellerId,
      });
      if (!order) throw new ApiError("order_not_found");
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
    return {
      status: 200,
      ...(order.median_seconds !== null && {
        headers: { "check-after": checkAfter(order.median_seconds - elapsedSeconds) },
      }),
      body: { order_code: order.order_code, status: order.status },
    };
  },
};
