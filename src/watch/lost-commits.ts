/**
 * Finds out whether a failover or a restore has lost commits. After the listener has connected to another timeline or another database,
 * and a minute later, it asks for everything that this process has acknowledged (src/db/acknowledged.ts). If something is missing, it
 * raises an alarm, and begins a new era of events, because readers may have read some that the database has lost.
 */
import { isMainThread, threadId } from "node:worker_threads";
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Acknowledged } from "#db/acknowledged.ts";
import { statement } from "#db/statement.ts";
import { timelineNow } from "#db/timeline.ts";
import { beginEraAfterLoss, noteRestore, originNow, withWritersLocked } from "#events/log.ts";
import { sleep } from "#lib/clock.ts";
import { processName } from "#locks/process-name.ts";
import type { Watch } from "#watch/look-around.ts";

type LostContext = Pick<Context, "database" | "listener" | "clock" | "log" | "acknowledged">;
type Entry = ReturnType<Acknowledged["entries"]>[number];

/** Each thread knows what it has acknowledged. */
const acknowledger = isMainThread ? processName : `thread ${threadId} of ${processName}`;

/** What the old primary commits and acknowledges before its end, while this process is connected to the new one. */
const lookAgainMsDefault = 60_000;
/** The pool may keep its connections to the old primary longer than the listener. */
const askAgainMs = 60_000;
const retryMs = 1_000;

const placeNow = statement(
  "lost-commits-place",
  `SELECT 'timeline ' || ltrim(${timelineNow}, '0') || ' of ' || origin AS place FROM ${originNow} AS now` as string,
  { place: "text" },
);

const missing = statement(
  "lost-commits-missing",
  `SELECT item FROM jsonb_to_recordset($items::jsonb) AS sent(item int4, key_id text, nonce text, cl_trid text)
   LEFT JOIN LATERAL (SELECT true AS is_here FROM committed_requests AS own
     WHERE own.key_id = sent.key_id AND own.nonce = sent.nonce LIMIT 1) AS request ON true
   LEFT JOIN LATERAL (SELECT true AS is_here FROM attempts AS own
     WHERE own.cl_trid = sent.cl_trid LIMIT 1) AS command ON true
   WHERE request.is_here IS NULL AND command.is_here IS NULL ORDER BY item`,
  { item: "int4" },
);

// PostgreSQL says until its next restart which commit was the last one that a standby had when it was promoted.
const knownLoss = statement(
  "lost-commits-known",
  `SELECT EXISTS (SELECT FROM alarms WHERE kind = 'commits-lost' AND starts_with(subject, $place)) AS has_era,
     pg_last_xact_replay_timestamp() AS last_at`,
  { has_era: "bool", last_at: "timestamptz?" },
);

/** Looks after each change of the primary, until it is closed. @param lookAgainMs how long after the first look */
export function watchLostCommits(context: LostContext, lookAgainMs = lookAgainMsDefault): Watch {
  const { database, listener, clock, log } = context;
  const stopped = new AbortController();
  let woken = new AbortController();
  const stopListening = listener.onReconnect(() => woken.abort());

  async function run(): Promise<void> {
    let known: string | undefined;
    let lost: Entry[] = [];
    let againAtMs = Number.POSITIVE_INFINITY;
    while (!stopped.signal.aborted) {
      woken = new AbortController();
      try {
        const place = (await database.query(placeNow, {}))[0]!.place;
        const hasMoved = known !== undefined && place !== known;
        if (hasMoved) lost = [];
        if (hasMoved || clock.monotonicMs() >= againAtMs) {
          log.info({ place }, "the database has another primary: looking for commits that it lacks");
          lost = await look(context, place, lost);
          againAtMs = hasMoved ? clock.monotonicMs() + lookAgainMs : Number.POSITIVE_INFINITY;
        }
        known = place;
        const pauseMs = Math.min(againAtMs - clock.monotonicMs(), askAgainMs);
        await sleep(pauseMs, AbortSignal.any([stopped.signal, woken.signal]));
      } catch (error) {
        log.warn({ err: error }, "cannot find out whether the database lacks commits");
        await sleep(retryMs, stopped.signal);
      }
    }
  }

  const running = run();
  return {
    close() {
      stopListening();
      stopped.abort();
      return running;
    },
  };
}

/** @param before what was found to be lost at this place before @returns the same with what is lost in addition */
async function look(context: LostContext, place: string, before: readonly Entry[]): Promise<Entry[]> {
  const { database, acknowledged } = context;
  await noteRestore(context);
  const entries = acknowledged.entries();
  const items = entries.map((entry, item) =>
    entry.is === "request" ? { item, key_id: entry.keyId, nonce: entry.nonce } : { item, cl_trid: entry.clTrid },
  );
  const found = await database.query(missing, { items: JSON.stringify(items) });
  const added = found.map(({ item }) => entries[item]!);
  const lost = [...before, ...added];
  if (added.length === 0) return lost;
  await withWritersLocked(context, async (tx) => {
    const [state] = await tx.query(knownLoss, { place });
    const times = [...lost.map(({ at }) => at), ...(state?.last_at ? [state.last_at] : [])];
    const since = new Date(Math.min(...times.map((at) => at.getTime())));
    await beginEraAfterLoss(tx, { since, isFirst: !state?.has_era });
    await raiseAlarm(context, { kind: "commits-lost", subject: `${place}: ${acknowledger}`, note: noteOf(lost) }, tx);
  });
  acknowledged.forget(added);
  return lost;
}

function noteOf(lost: readonly Entry[]): string {
  const names = (is: Entry["is"]) =>
    lost.filter((entry) => entry.is === is).map((entry) => (entry.is === "request" ? entry.name : entry.clTrid));
  const requests = names("request");
  const commands = names("command");
  return [
    "the database went back: a standby without the last commits has become the primary, or a backup was restored",
    ...(requests.length > 0 ? [`accepted and lost: ${requests.join(", ")}`] : []),
    ...(commands.length > 0 ? [`sent to a registry and lost: ${commands.join(", ")}`] : []),
  ].join("; ");
}
