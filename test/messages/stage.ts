/** Messages of the registry about which no order knows anything. */
import type { MessageRule } from "#registry/message-rules.ts";
import { outcomeField } from "#registry/message-rules.ts";
import type { MessageRequest } from "../../sandbox/registry/messages.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { registrarId, until } from "../orders/judge.ts";

/** How often the tests' gateways read the queue and look at names. */
export const quick = { pollIntervalMs: 20, renewalIntervalMs: 50 };

export const ruleOf = (outcome: MessageRule["then"], match: string): MessageRule => ({
  match,
  [outcomeField]: outcome,
});

/** Sends a message, and waits until it was acknowledged. @returns its id */
export async function send(gateway: TestGateway, message: Omit<MessageRequest, "registrar">): Promise<string> {
  const id = await gateway.registry.enqueueMessage({ registrar: registrarId, ...message });
  await untilRead(gateway);
  return id;
}

export const untilRead = ({ registry }: TestGateway) =>
  until("the queue is empty", () => registry.store.messages.values().length === 0);

export interface StoredMessage {
  message_id: string;
  kind: string;
  outcome: string;
  domain_name: string | null;
  needs_operator: boolean;
  message_text: string;
  payload: string;
}

export const stored = ({ databaseUrl }: TestGateway): Promise<StoredMessage[]> =>
  runSql(databaseUrl, "SELECT * FROM poll_messages ORDER BY received_at, message_id");

export const openAlarms = ({
  databaseUrl,
}: TestGateway): Promise<{ kind: string; subject: string; note: string; count: number }[]> =>
  runSql(databaseUrl, "SELECT kind, subject, note, count FROM alarms WHERE resolved_at IS NULL ORDER BY id");

/** Without the notes. */
export const alarmed = async (gateway: TestGateway) =>
  (await openAlarms(gateway)).map(({ kind, subject }) => `${kind} ${subject}`);

export const historyOf = ({ databaseUrl }: TestGateway, name: string): Promise<{ event: string; note: string }[]> =>
  runSql(databaseUrl, "SELECT event, note FROM domain_history WHERE domain_name = $1 ORDER BY id", [name]);
