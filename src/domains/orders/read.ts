/** GET /orders/<order_code>: any order of the caller, in the seven statuses of a registration. */
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { type RowOf, statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { kindNames } from "#domains/orders/order.ts";
import { isFinal, orderStatuses } from "#domains/orders/states.ts";
import { unknownOrder } from "#domains/orders/unknown-order.ts";
import { invalidField } from "#errors.ts";
import { type OrderCode, parseOrderCode } from "#lib/order-code.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { domainName, instant } from "#use-case/docs.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { waitApplied } from "#use-case/wait-applied.ts";

export const orderColumns = {
  order_code: "text",
  kind: kindNames,
  domain_name: "text",
  status: orderStatuses,
  created_at: "timestamptz",
  ended_at: "timestamptz?",
  error_code: ["order_failed", "order_refused", "order_cancelled", null],
  error_text: "text?",
  /** What the reseller can do now that it is finished. */
  next: "text?",
} as const;
export type OrderRow = RowOf<typeof orderColumns>;

/**
 * SQL: `orderColumns` of rows of `orders`. What the schedule sends is among them; the statuses of a term are those of `GET /renewals`.
 */
export const selectedOrder = `order_code, kind, domain_name, status, created_at, ended_at, order_error_code(status) AS error_code,
  order_error_text(status, reason) AS error_text, found ->> 'next' AS next`;

// By the code alone: a plan for a small table would read all orders of the reseller.
const orderForOwner = statement(
  "order-for-owner",
  `SELECT ${selectedOrder} FROM orders WHERE order_code = $code AND reseller_id IS NOT DISTINCT FROM $reseller_id`,
  orderColumns,
);

async function readOrder(context: Context, resellerId: number, code: string): Promise<OrderRow> {
  const [order] = await context.database.query(orderForOwner, { code, reseller_id: resellerId });
  if (!order) throw await unknownOrder(context);
  return order;
}

export const orderShape = Type.Object(
  {
    order_code: Type.String({ examples: ["CHG-GGRR9DSX-7NH"] }),
    kind: Type.Enum(kindNames, { description: "`create` is a registration." }),
    domain_name: domainName,
    status: Type.Enum(orderStatuses),
    created_at: instant,
    ended_at: Type.Optional(instant),
    error_code: Type.Optional(Type.Enum(["order_failed", "order_refused", "order_cancelled"])),
    error_text: Type.Optional(Type.String({ description: "It includes the registry's words." })),
    next: Type.Optional(Type.String({ description: "What you can do." })),
  },
  {
    title: "Order",
    examples: [
      {
        order_code: "CHG-GGRR9DSX-7NH",
        kind: "transfer-lock",
        domain_name: "hello.example",
        status: "Finished",
        created_at: "2026-11-21T01:39:27.687Z",
        ended_at: "2026-11-21T01:39:27.702Z",
      },
    ],
  },
);

/** What to do after an order has failed. */
const nextSteps: Partial<Record<OrderRow["status"], string>> = {
  Errors: "Read error_text. The order has ended; place it again once the cause is removed.",
  FailedValidation: "Correct what error_text names, and order again.",
  Cancelled: "Order again if it is still wanted.",
};

/** The public form of an order. */
export function presentOrder(order: OrderRow): Static<typeof orderShape> {
  const { order_code, kind, domain_name, status, created_at, ended_at, error_code, error_text } = order;
  const next = status === "Finished" ? order.next : nextSteps[status];
  return {
    order_code,
    kind,
    domain_name,
    status,
    created_at: created_at.toISOString(),
    ...(ended_at && { ended_at: ended_at.toISOString() }),
    ...(error_code && { error_code }),
    ...(error_text !== null && { error_text }),
    ...(next != null && { next }),
  };
}

/** Waits for an order's end as long as the caller is ready to. @param accepted the answer if it is not over by then */
export async function awaitOrder(
  context: Context,
  request: UseCaseRequest,
  code: string,
  accepted: Answer,
): Promise<Answer> {
  const order = await untilChanged(context, request, code, isOver);
  const applied = waitApplied(request);
  if (!isOver(order)) return { ...accepted, headers: { ...accepted.headers, ...applied } };
  return {
    status: 200,
    headers: { ...applied, location: accepted.headers?.location ?? "" },
    body: presentOrder(order),
  };
}

const isOver = ({ status }: OrderRow) => isFinal(status);

function untilChanged(
  context: Context,
  request: UseCaseRequest,
  code: string,
  isAwaited: (order: OrderRow) => boolean,
): Promise<OrderRow> {
  return waitForNotification(context, "order_changed", code, {
    read: () => readOrder(context, request.caller.resellerId, code),
    isAwaited,
    waitMs: request.waitSeconds * 1000,
    signal: request.signal(),
  });
}

/** How long an order that has not ended may take until the next look is worth it. */
const lookAfterSeconds = 2;

/** `Prefer: wait=N` holds the answer until the status changes. */
export const readOrderByCode: UseCase = {
  errors: ["bad_request", "order_not_found"],
  scope: "domains:read",
  docs: {
    operation: "readOrder",
    summary: "Reads an order: a registration, a renewal or another change of a name.",
    description: "`Prefer: wait=N` holds the answer until the status changes.",
    answers: {
      200: { description: "The order.", body: orderShape, headers: ["check-after?", "preference-applied?"] },
    },
  },

  async handle(context, request) {
    const code: OrderCode | undefined = parseOrderCode(request.params.order_code ?? "");
    if (code === undefined) {
      const text = "An order code has the form CHG-XXXXXXXX-XXX; use the location of the order's answer.";
      throw invalidField("order_code", text);
    }
    let order = await readOrder(context, request.caller.resellerId, code);
    if (request.waitSeconds > 0 && !isOver(order)) {
      const { status: seen } = order;
      order = await untilChanged(context, request, code, ({ status }) => status !== seen);
    }
    return {
      status: 200,
      headers: {
        ...waitApplied(request),
        ...(!isOver(order) && { "check-after": checkAfter(lookAfterSeconds) }),
      },
      body: presentOrder(order),
    };
  },
};
