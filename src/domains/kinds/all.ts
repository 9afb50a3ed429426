import { authCodeKind } from "#domains/kinds/auth-code/kind.ts";
import { contactsKind } from "#domains/kinds/contacts.ts";
import { createKind } from "#domains/kinds/create.ts";
import { deleteOrderKind } from "#domains/kinds/delete.ts";
import { dnssecKind } from "#domains/kinds/dnssec.ts";
import { nameserversKind } from "#domains/kinds/nameservers.ts";
import { renewOrderKind } from "#domains/kinds/renew-kind.ts";
import { restoreOrderKind } from "#domains/kinds/restore.ts";
import { transferAnswerKind } from "#domains/kinds/transfer-answer.ts";
import { transferLockKind } from "#domains/kinds/transfer-lock.ts";
import type { OrderKinds } from "#domains/orders/kind.ts";

export const orderKinds: OrderKinds = {
  create: createKind,
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
