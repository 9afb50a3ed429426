/** The kind `transfer-lock`: whether other registrars can transfer the name away (clientTransferProhibited; RFC 5731 §2.3). */
import Type from "typebox";
import { type OrderKind, whileHeld } from "#domains/orders/kind.ts";
import { placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import { lockedStatus } from "#domains/portfolio/rows.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

const requestBody = Type.Object({ transfer_locked: Type.Boolean({ examples: [true] }) });

export const transferLockKind: OrderKind = {
  name: "transfer-lock",
  isUrgent: false,
  pendingStatus: "pendingUpdate",

  plan: whileHeld((_sessions, { domain_name: name, input }, { statuses }) => {
    const { transfer_locked: isWanted } = input as { transfer_locked: boolean };
    if (statuses.includes(lockedStatus) === isWanted) return { is: "done" };
    const change = { statuses: [lockedStatus] };
    return { is: "send", command: domainUpdate(isWanted ? { name, add: change } : { name, remove: change }) };
  }),
};

/** PUT /domains/<domain_name>/transfer-lock: 202 and an order. */
export const setTransferLock: UseCase = {
  errors: placeErrors,
  scope: "domains:update",
  docs: {
    operation: "setTransferLock",
    summary: "Orders whether other registrars can transfer a name away.",
    body: requestBody,
    answers: placeAnswers,
  },

  handle(context, request) {
    const input = parseBody(requestBody, request.rawBody);
    const { transfer_locked } = input;
    return placeChange(context, request, { kind: transferLockKind, prefix: "CHG", input: { transfer_locked } });
  },
};
