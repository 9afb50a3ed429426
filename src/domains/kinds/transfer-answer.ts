/**
 * The kind `transfer-answer`: our answer, as the losing registrar, to a transfer that another registrar has requested (RFC 5731
 * §3.2.4). `<transfer op="query">` shows what became of it, even when the name belongs to the other registrar already.
 */
import Type, { type Static } from "typebox";
import { judgeAbsence, seePresence } from "#domains/compare/looks.ts";
import { recordOf } from "#domains/messages/transfer-messages.ts";
import type { OrderKind, Plan } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import { placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import type { NameInfo } from "#domains/registry/ask.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { invalidField } from "#errors.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import type { TransferData } from "#registry/epp/commands/domain/transfer-data.ts";
import { parseBody } from "#use-case/body.ts";
import { checkedByHand } from "#use-case/docs.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** Why a losing registrar may reject a transfer, or must (ICANN Transfer Policy, sections I.A.3.7 and I.A.3.8). */
const rejectReasons = [
  "fraud",
  "identity-disputed",
  "unpaid",
  "registrant-objects",
  "registered-recently",
  "transferred-recently",
  "registrant-changed-recently",
  "name-dispute",
  "transfer-dispute",
  "court-order",
];

const requestBody = Type.Object(
  {
    answer: Type.Enum(["approve", "reject"]),
    reason: Type.Optional(checkedByHand(Type.Enum(rejectReasons, { description: "Of a reject only." }))),
  },
  { examples: [{ answer: "reject", reason: "unpaid" }] },
);
type TransferAnswer = Pick<Static<typeof requestBody>, "answer">;

/** The transfer that the order answers: another one may be requested later. */
interface AnsweredTransfer {
  requested_by?: string;
  requested_at?: string;
}

const statusOf = { approve: "clientApproved", reject: "clientRejected" };

export const transferAnswerKind: OrderKind = {
  name: "transfer-answer",
  isUrgent: true,
  plan: planAnswer,
};

async function planAnswer(sessions: RegistrySessions, order: Order, name: NameInfo): Promise<Plan> {
  if (name.is === "unknown") return name;
  const { domain_name } = order;
  const { answer } = order.input as TransferAnswer;
  const answered = order.found as AnsweredTransfer;
  const isSent = answered.requested_by !== undefined;
  const asked = await askTransfer(sessions, domain_name);
  if (asked.is === "unknown") return asked;
  if (asked.is === "hidden") {
    // Some registries show a transfer only to the registrar that holds the name.
    if (isSent && answer === "approve" && name.is === "held-by-other") return { is: "done" };
    return { is: "unknown", reason: asked.reason };
  }
  const { transfer } = asked;
  if (!transfer) return refused("no transfer of the name is requested");
  const found = { requested_by: transfer.reID, requested_at: transfer.reDate?.toISOString() };
  if (isSent && (answered.requested_by !== found.requested_by || answered.requested_at !== found.requested_at)) {
    return refused("the transfer has ended, and another one is requested");
  }
  if (transfer.status === "pending")
    return { is: "send", command: domainTransfer(answer, { name: domain_name }), found };
  // What `<info>` showed may be older than the end, and the portfolio would keep it: the next look asks for both again.
  if (name.is === "held-by-us" && name.info.statuses.includes("pendingTransfer")) {
    return { is: "unknown", reason: "the transfer has ended, and the registry still shows the name as asked for" };
  }
  // The registry sends no message about an answer of our own: the portfolio stops showing the request now.
  if (name.is === "held-by-us") await seePresence(sessions, domain_name, name.info);
  if (isSent && transfer.status === statusOf[answer]) {
    return answer === "approve" ? planLeave(sessions, domain_name, name, transfer) : { is: "done" };
  }
  return refused(`no transfer of the name is pending: the last one ended as ${transfer.status}`);
}

/** The registry sends no message about an approval of our own: the name leaves the portfolio before the order ends. */
async function planLeave(
  sessions: RegistrySessions,
  name: string,
  seen: Exclude<NameInfo, { is: "unknown" }>,
  transfer: TransferData,
): Promise<Plan> {
  if (seen.is === "held-by-us") {
    return { is: "unknown", reason: "the transfer is approved, and the registry still shows the name as ours" };
  }
  const { database, clock } = sessions.context;
  const record = recordOf(transfer, clock.now());
  await database.transaction((tx) => judgeAbsence(sessions, tx, name, seen, record));
  return { is: "done" };
}

const refused = (reason: string): Plan => ({ is: "refused", as: "failed", reason });

type AskedTransfer =
  /** Absent: the name was never transferred, or does not exist. */
  { is: "shown"; transfer?: TransferData } | { is: "hidden"; reason: string } | { is: "unknown"; reason: string };

/** RFC 5731 §3.1.3. Never throws. */
async function askTransfer(sessions: RegistrySessions, name: string): Promise<AskedTransfer> {
  try {
    using session = await sessions.pool.acquire("urgent-change", { waitMs: sessionWaitMs });
    const query = domainTransfer("query", { name });
    const { code, data } = await session.request(query, { clTRID: sessions.queryClTrid() });
    if (code === 1000 && data) return { is: "shown", transfer: data };
    if (code === 2301 || code === 2303) return { is: "shown" };
    const reason = `a query of the transfer was answered with ${code}`;
    return { is: code === 2201 ? "hidden" : "unknown", reason };
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** POST /domains/<domain_name>/transfer-out: 202 and an order. */
export const answerTransfer: UseCase = {
  errors: placeErrors,
  scope: "domains:transfer",
  docs: {
    operation: "answerTransfer",
    summary: "Orders the answer to a transfer that another registrar requests now.",
    description: "An approved name leaves your portfolio.",
    body: requestBody,
    answers: placeAnswers,
  },

  handle(context, request) {
    const { answer, reason } = parseBody(requestBody, request.rawBody);
    if (answer === "reject" && !rejectReasons.some((one) => one === reason)) {
      throw invalidField("reason", `A transfer may be rejected for one of these reasons: ${rejectReasons.join(", ")}.`);
    }
    if (answer === "approve" && (reason ?? null) !== null) {
      throw invalidField("reason", "Only a transfer that is rejected has a reason.");
    }
    const input = { answer, ...(answer === "reject" && { reason }) };
    return placeChange(context, request, { kind: transferAnswerKind, prefix: "CHG", input });
  },
};
