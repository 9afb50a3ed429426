/** How texts of registries are stored, shown and logged: short, in one line, without secrets and personal data as far as they can be seen. */
import { createHash } from "node:crypto";
import { redactText } from "#registry/epp/redaction.ts";

const textCharsMax = 1_000;
const payloadCharsMax = 64 * 1024;
const idCharsMax = 200;

/** A text for the history, a list or the log. */
export function messageText(text: string): string {
  // Cut first: redaction need not read megabytes. What the cut has halved is not a whole address or code any more.
  const line = text.slice(0, 2 * textCharsMax).replace(/[\p{C}\s]+/gu, " ");
  return redactText(line).trim().slice(0, textCharsMax);
}

/** The data of a message. @param payload already without credentials, if it is XML */
export function messagePayload(payload: string): string {
  const kept = redactText(payload.slice(0, payloadCharsMax));
  return payload.length > payloadCharsMax
    ? `${kept}… (the first ${payloadCharsMax} of ${payload.length} characters)`
    : kept;
}

/** A message's id as it is stored: PostgreSQL's keys have a limit, and a registry's ids have none. */
export function storedMessageId(id: string): string {
  if (id.length <= idCharsMax) return id;
  return `${id.slice(0, idCharsMax / 2)}…${createHash("sha256").update(id).digest("hex")}`;
}
