/**
 * Sends what only wakes somebody, after the commit of what it is about. PostgreSQL holds a lock of the whole server from the
 * NOTIFY of a transaction until its commit is on the standby, so all commits with a notification would wait for each other
 * (docs/decisions/0027-notifications-follow-commits.md). The transaction asks for it by `notify_after_commit` (db/functions), whose
 * message arrives on the transaction's connection.
 *
 * A process may end between the two, and then nobody is woken. So who waits also reads the rows again, as a rule each second.
 */
import type { SessionConfig } from "#db/connection.ts";
import { createPipelinedConnection } from "#db/pipeline.ts";
import type { Notification } from "#db/session.ts";
import { statement } from "#db/statement.ts";
import type { Log } from "#lib/log.ts";
import { reportDefect } from "#lib/report-defect.ts";

const notify = statement(
  "notify",
  `SELECT count(pg_notify(asked.channel, asked.payload)) AS notified
   FROM unnest($channels::text[], $payloads::text[]) AS asked(channel, payload)`,
  { notified: "int8" },
);

export interface Notifier {
  /** Sends them soon, each once with what comes until then. Those that cannot be sent are lost. */
  send(notifications: readonly Notification[]): void;
  /** What is being sent is lost. */
  drop(): void;
  /** Sends the rest, and disconnects. */
  close(): Promise<void>;
}

/**
 * One statement for each turn of the event loop; what comes while it runs is the next one. It has a connection, so it never waits
 * behind a commit that waits for a standby.
 * @param config of a session whose own commits wait for nothing (`isForgetful`)
 */
export function createNotifier(config: SessionConfig, log: Log): Notifier {
  const connection = createPipelinedConnection(config, "notifications", log);
  let waiting = new Map<string, Notification>();
  let sending: Promise<void> | undefined;

  async function sendAll(): Promise<void> {
    while (waiting.size > 0) {
      const all = [...waiting.values()];
      waiting = new Map();
      const values = { channels: all.map(({ channel }) => channel), payloads: all.map(({ payload }) => payload) };
      try {
        await connection.query(notify, values);
      } catch (error) {
        log.warn({ err: error }, "who waits for a change was not notified, and reads it a little later");
      }
    }
    sending = undefined;
  }

  return {
    send(notifications) {
      for (const each of notifications) waiting.set(`${each.channel} ${each.payload}`, each);
      if (waiting.size === 0 || sending) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      sending = promise.then(sendAll);
      sending.catch(reportDefect);
      setImmediate(resolve);
    },

    drop: () => connection.drop(),

    async close() {
      await sending;
      await connection.close();
    },
  };
}
