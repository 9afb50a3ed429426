/** An operator's requests to orders about registered names, and everything that an operator sees of one. */
import { statement } from "#db/statement.ts";
import { type ChangeOrder, type ChangeOutcome, changeTable, findChange } from "#domains/orders/change-orders.ts";
import { type ChangeState, changePhases, changeState, changeStates } from "#domains/orders/change-states.ts";
import type { FoundFee } from "#domains/orders/kind.ts";
import { describeNextStep } from "#domains/orders/next-step.ts";
import type { OrderContext } from "#domains/orders/orders.ts";
import { requestOf } from "#domains/orders/request.ts";
import { isFinal, orderStatuses } from "#domains/orders/states.ts";
import { attemptColumns, selectAttempts, unansweredAttempts } from "#domains/registry/ask.ts";
import { OperatorError } from "#operator-error.ts";

const idByCode = statement("change-id-by-code", "SELECT id FROM changes WHERE change_code = $code", { id: "int8" });

const details = statement(
  "operator-change",
  `SELECT reseller.name AS reseller, change.updated_at,
     (SELECT since FROM alarms WHERE resolved_at IS NULL AND (kind = 'order' AND subject = change_code
       OR kind = 'renewal' AND subject = domain_name AND renewal_id IS NOT NULL AND operator_note IS NOT NULL)
      LIMIT 1) AS needs_operator_since,
     (SELECT note FROM change_history WHERE change_id = change.id AND event = 'settle-refused' ORDER BY id DESC LIMIT 1) AS refusal
   FROM changes AS change JOIN resellers AS reseller ON reseller.id = change.reseller_id WHERE change.id = $change_id`,
  { reseller: "text", updated_at: "timestamptz", needs_operator_since: "timestamptz?", refusal: "text?" },
);

const history = statement(
  "operator-change-history",
  "SELECT at, event, status, phase, note FROM change_history WHERE change_id = $change_id ORDER BY id",
  { at: "timestamptz", event: "text", status: orderStatuses, phase: [...changePhases, null], note: "text?" },
);

const attemptsOfChange = statement(
  "operator-change-attempts",
  `${selectAttempts}
   WHERE change_id = $change_id ORDER BY number`,
  attemptColumns,
);

/** @throws OperatorError when there is no such order */
async function getChange(context: OrderContext, code: string): Promise<ChangeOrder> {
  const [row] = await context.database.query(idByCode, { code });
  const order = row && (await findChange(context, row.id));
  if (!order) throw new OperatorError("not-found", "there is no order with this code");
  return order;
}

const request = (
  context: OrderContext,
  code: string,
  ask: (order: ChangeOrder) => ChangeOutcome,
): Promise<ChangeOrder> => requestOf(context, changeTable, () => getChange(context, code), ask);

const isUnanswered = ({ attempts }: ChangeOrder) => unansweredAttempts(attempts).length > 0;

/** Cancels an order of which nothing can have reached the registry. @throws OperatorError when there is none, or something may have */
export async function cancelChange(context: OrderContext, code: string): Promise<void> {
  await request(context, code, (order) => {
    const state = changeState(order);
    if (!isUnanswered(order) && changeStates.next(state, "cancel")) {
      return { event: "cancel", reason: "cancelled by the operator" };
    }
    const advice = "it ends by what the registry shows; deedhouse operator orders settle ends it by hand";
    throw new OperatorError("refused", `the registry may be carrying the order out (${state}): ${advice}`);
  });
}

/** Makes an order's next step due now. @throws OperatorError when there is none, or its wait must not be cut short */
export async function retryChange(context: OrderContext, code: string): Promise<void> {
  await request(context, code, (order) => {
    if (isUnanswered(order) && order.backoff_count === 0) {
      const until = order.next_step_at?.toISOString() ?? "its next step";
      const why = "an answer of the registry was lost, and until then the command may still be executed";
      throw new OperatorError("refused", `the order waits until ${until}: ${why}`);
    }
    return { nextStepAt: context.clock.now() };
  });
}

/**
 * Settles an order: its next step compares that with what the registry shows.
 * @returns the order's id, for `findChangeSettlement`
 */
export async function settleChange(
  context: OrderContext,
  code: string,
  { as, note }: { as: "done" | "failed"; note: string },
): Promise<number> {
  const { id } = await request(context, code, (order) => {
    const state = changeState(order);
    if (!changeStates.next(state, "settled-failed")) {
      throw new OperatorError("refused", `the order is in state ${state}: it has not begun, and can be cancelled`);
    }
    order.settle_as = as;
    order.settle_note = note;
    const { status, phase } = order;
    order.unwritten.push({ event: "settle-requested", status, phase, note });
    const mayHurry = order.backoff_count > 0 || !isUnanswered(order);
    return { nextStepAt: mayHurry ? context.clock.now() : (order.next_step_at ?? undefined) };
  });
  return id;
}

/** Whether a requested settlement was applied; `undefined` until a step has compared it. */
export async function findChangeSettlement(
  context: OrderContext,
  id: number,
): Promise<{ status: string } | { refusal: string } | undefined> {
  const order = await findChange(context, id);
  if (!order) throw new Error("the order is gone");
  if (isFinal(order.status)) return { status: order.status };
  if (order.settle_as !== null) return undefined;
  const [row] = await context.database.query(details, { change_id: id });
  return { refusal: row?.refusal ?? "the order continued before the settlement was applied" };
}

/** @throws OperatorError when there is no such order */
export async function reportChange(context: OrderContext, code: string) {
  const { database } = context;
  const order = await getChange(context, code);
  const values = { change_id: order.id };
  const [more] = await database.query(details, values);
  const { fee } = order.found as FoundFee;
  return {
    order_code: order.change_code,
    kind: order.kind,
    domain_name: order.domain_name,
    reseller: more?.reseller,
    registry: order.registry_id,
    input: JSON.stringify(order.input),
    status: order.status,
    phase: order.phase,
    verify_cause: order.verify_cause,
    reason: order.reason,
    fee: fee ? `${fee.amount} ${fee.currency}` : null,
    created_at: order.created_at,
    updated_at: more?.updated_at,
    needs_operator_since: more?.needs_operator_since,
    attention: order.operator_note,
    failed_tries: order.backoff_count,
    next_step_at: order.next_step_at,
    next: describeNextStep(order, stepDescriptions[changeState(order) as keyof typeof stepDescriptions]),
    history: await database.query(history, values),
    attempts: await database.query(attemptsOfChange, values),
  };
}

const stepDescriptions: Record<
  Exclude<ChangeState, "Errors" | "Finished" | "FailedValidation" | "Cancelled">,
  string
> = {
  NotProvisioned: "it starts when no other order of the name is in progress",
  "Processing (send)": "the registry is asked what it shows, and the difference is sent",
  "Processing (verify: answered)": "the registry is asked whether it shows what it reported as done",
  "Processing (verify: lost)": "the registry is asked whether the command whose answer was lost was executed",
  Pending: "it waits for the registry's message, and asks the registry from time to time",
};
