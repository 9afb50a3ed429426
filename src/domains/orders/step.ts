/** What an order about a registered name does in each of its states; states.ts says what follows. */

import { authCodeKind } from "#domains/kinds/auth-code/kind.ts";
import { contactsKind } from "#domains/kinds/contacts.ts";
import { deleteOrderKind } from "#domains/kinds/delete.ts";
import { dnssecKind } from "#domains/kinds/dnssec.ts";
import { nameserversKind } from "#domains/kinds/nameservers.ts";
import { renewOrderKind } from "#domains/kinds/renew-kind.ts";
import { restoreOrderKind } from "#domains/kinds/restore.ts";
import { transferAnswerKind } from "#domains/kinds/transfer-answer.ts";
import { transferLockKind } from "#domains/kinds/transfer-lock.ts";
import { attentionLookMs, type Machine } from "#domains/orders/change.ts";
import {
  type ChangeKindName,
  type ChangeOrder,
  type ChangeOutcome,
  changeTable,
} from "#domains/orders/change-orders.ts";
import { changeState } from "#domains/orders/change-states.ts";
import { commandsOf, lookAtPending, type OrderKind } from "#domains/orders/kind.ts";
import { yieldToNewer } from "#domains/orders/newer-orders.ts";
import { lostAnswer, sendKind, verifyKind } from "#domains/orders/send.ts";
import { settle } from "#domains/orders/settle.ts";
import { isChangeHeld } from "#domains/orders/turns.ts";
import { later, unansweredAttempts } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

const kinds: Readonly<Record<ChangeKindName, OrderKind>> = {
  "auth-code": authCodeKind,
  contacts: contactsKind,
  delete: deleteOrderKind,
  dnssec: dnssecKind,
  nameservers: nameserversKind,
  renew: renewOrderKind,
  restore: restoreOrderKind,
  "transfer-answer": transferAnswerKind,
  "transfer-lock": transferLockKind,
};

/** How often an order looks whether its turn has come, should it miss the end of the one before it. */
const turnLookMs = 30_000;

export const changeMachine: Machine<ChangeOrder, ChangeOutcome> = {
  ...changeTable,
  isInTurns: true,
  step,
  delayMs: ({ renewal_id }, { operatorNote }) => (renewal_id !== null && operatorNote ? attentionLookMs : undefined),
  // The schedule's orders have weeks, and their renewals call an operator.
  failing: ({ renewal_id, waiting_since: since, operator_note: note }) =>
    renewal_id === null ? { since, note } : undefined,
};

async function step(sessions: RegistrySessions, order: ChangeOrder): Promise<ChangeOutcome> {
  const kind = kinds[order.kind];
  const state = changeState(order);
  const newer = state === "NotProvisioned" ? undefined : await yieldToNewer(sessions, order, kind);
  if (order.settle_as !== null) return settle(sessions, order, kind);
  switch (state) {
    case "NotProvisioned":
      if (await isChangeHeld(sessions, order)) return { nextStepAt: later(sessions, turnLookMs) };
      return { event: "started", isFree: true };
    case "Processing (send)":
      // The process that sent it is gone: it may have been executed.
      if (unansweredAttempts(order.attempts).length > 0) return lostAnswer(sessions);
      if (newer !== undefined) return { event: "superseded", reason: `superseded by ${newer}` };
      if (await isChangeHeld(sessions, order)) return { nextStepAt: later(sessions, turnLookMs) };
      return sendKind(sessions, changeTable, order, commandsOf(kind, order));
    case "Processing (verify: answered)":
    case "Processing (verify: lost)":
      return verifyKind(sessions, order, commandsOf(kind, order));
    case "Pending":
      return lookAtPending(sessions, order, kind);
    default:
      throw new Error(`an order in ${state} has no step`);
  }
}
