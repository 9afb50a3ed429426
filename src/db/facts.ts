/** What a session says about its database, and what that means: nothing, a note, an alarm, or that the database is refused. */
import { hostname } from "node:os";

export interface DatabaseFacts {
  /** `server_version_num`: 15.4 is 150004. */
  version: number;
  isStandby: boolean;
  /** New transactions are read-only, by a setting or because the server is a standby. */
  isReadOnly: boolean;
  hasFsync: boolean;
  hasFullPageWrites: boolean;
  encoding: string;
  /** As our sessions have it: a role and a database can have settings of their own. */
  synchronousCommit: string;
  /** Connected standbys for which a commit waits; null: our role may not see them. */
  synchronousStandbys: number | null;
  /** Another client of ours has used this session before, or at the same time. */
  isShared: boolean;
  /** How far the database's clock is certainly ahead of ours; negative: behind it. */
  clockAheadMs: number;
  /** Of the cluster, from initdb on; a standby has its primary's. */
  systemIdentifier: string;
  /** A promotion begins a new one. */
  timeline: number;
}

/** What a process demands of its database, beyond what every statement needs. */
export interface Demands {
  /** What a committed transaction must survive. `ignored` is for test systems, and for commands that serve no reseller. */
  durability: "needed" | "waived" | "ignored";
  /** A synchronous standby belongs to the installation. */
  synchronous: boolean;
}

/** For everything but the api and the worker. */
export const leastDemands: Demands = { durability: "ignored", synchronous: false };

type Fact =
  | "version"
  | "primary"
  | "writable"
  | "encoding"
  | "session"
  | "fsync"
  | "full_page_writes"
  | "synchronous_commit"
  | "synchronous_standby"
  | "clock";

/** A fact that is not as it should be. */
export interface Finding {
  fact: Fact;
  /** `refused`: no session is used while it is so. */
  weight: "refused" | "alarm" | "note";
  /** What is wrong and what to do. */
  sentence: string;
}

/** A setting of our own, which marks a session as taken. */
export const sessionMark = "deedhouse.session";

/** SQL for PostgreSQL 10 and later, so that an old server can say that it is old. An ordinary role may run all of it. */
export const selectFacts = `SELECT json_build_object(
    'version', current_setting('server_version_num')::int4,
    'isStandby', pg_is_in_recovery(),
    'isReadOnly', current_setting('transaction_read_only')::bool,
    'hasFsync', current_setting('fsync')::bool,
    'hasFullPageWrites', current_setting('full_page_writes')::bool,
    'encoding', current_setting('server_encoding'),
    'synchronousCommit', current_setting('synchronous_commit'),
    'synchronousStandbys', CASE WHEN pg_has_role('pg_monitor', 'USAGE') THEN
      (SELECT count(*) FROM pg_stat_get_wal_senders() WHERE sync_state IN ('sync', 'quorum')) END,
    'isShared', coalesce(current_setting('${sessionMark}', true), '') <> '',
    'clockMs', extract(epoch FROM clock_timestamp()) * 1000,
    'systemIdentifier', (SELECT system_identifier::text FROM pg_control_system()),
    'timeline', CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
      ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4 END)::text AS facts`;

/** @param text what `selectFacts` returned @param sentMs when it was sent, by our clock @param receivedMs when the answer came */
export function readFacts(text: string, sentMs: number, receivedMs: number): DatabaseFacts {
  const { clockMs, ...facts } = JSON.parse(text) as Omit<DatabaseFacts, "clockAheadMs"> & { clockMs: number };
  // The server looked at its clock at some moment between the two.
  const clockAheadMs = clockMs > receivedMs ? clockMs - receivedMs : Math.min(clockMs - sentMs, 0);
  return { ...facts, clockAheadMs };
}

const majorMin = 15;
const testedMajorMax = 18;
/** `server_version_num` of 15.4 is 150004. */
const numbersPerMajor = 10_000;
const safeCommits = new Set(["on", "remote_apply"]);
const clockAlarmMs = 2_000;
/** A tenth of the window in which a signature is valid. */
const clockRefusedMs = 30_000;

/** What is not as it should be, in the order in which to mend it. */
export function judgeFacts(facts: DatabaseFacts, demands: Demands): Finding[] {
  const findings: Finding[] = [];
  const add = (fact: Fact, weight: Finding["weight"], sentence: string) => findings.push({ fact, weight, sentence });
  judgeServer(facts, add);
  if (demands.durability !== "ignored") judgeDurability(facts, demands, add);
  if (demands.synchronous) judgeStandbys(facts, add);
  const apartMs = Math.abs(facts.clockAheadMs);
  if (apartMs >= clockAlarmMs) {
    const direction = facts.clockAheadMs > 0 ? "behind" : "ahead of";
    const sentence = `The clock of ${hostname()} is ${(apartMs / 1000).toFixed(1)} s ${direction} the database server's, and signatures, locks and terms depend on it: let NTP set the clocks of both machines.`;
    add("clock", apartMs >= clockRefusedMs ? "refused" : "alarm", sentence);
  }
  return findings;
}

type Add = (fact: Fact, weight: Finding["weight"], sentence: string) => void;

function judgeServer({ version, isStandby, isReadOnly, encoding, isShared }: DatabaseFacts, add: Add): void {
  const major = Math.floor(version / numbersPerMajor);
  const found = `The database server is PostgreSQL ${major}.${version % numbersPerMajor}`;
  if (major < majorMin) {
    const needed = `Deedhouse needs version ${majorMin} or later: upgrade the server, or set DATABASE_URL to a newer one.`;
    add("version", "refused", `${found}, and ${needed}`);
  } else if (major > testedMajorMax) {
    const tested = `Deedhouse is tested with ${majorMin} to ${testedMajorMax}: look for a newer version of Deedhouse.`;
    add("version", "note", `${found}, and ${tested}`);
  }
  if (isStandby) {
    add(
      "primary",
      "refused",
      "The database server is a standby: let DATABASE_URL lead to the primary, or promote this server.",
    );
  } else if (isReadOnly) {
    add(
      "writable",
      "refused",
      "The database takes no writes: set default_transaction_read_only to off, for our role and our database too.",
    );
  }
  if (encoding !== "UTF8") {
    add(
      "encoding",
      "refused",
      `The database has the encoding ${encoding}, and Deedhouse needs UTF8: create one with ENCODING 'UTF8' TEMPLATE template0, and set DATABASE_URL to it.`,
    );
  }
  if (isShared) add("session", "refused", sharedSession);
}

const sharedSession =
  "DATABASE_URL leads to a pooler that gives one session to several clients: set pool_mode = session and server_reset_query = DISCARD ALL (PgBouncer), or connect to PostgreSQL itself.";

function judgeDurability(facts: DatabaseFacts, { durability }: Demands, add: Add): void {
  const { hasFsync, hasFullPageWrites, synchronousCommit } = facts;
  const off = (setting: string) =>
    `The database server runs with ${setting} = off, so a crash can destroy the database: set it to on in postgresql.conf, and reload PostgreSQL.`;
  if (!hasFsync) add("fsync", "refused", off("fsync"));
  if (!hasFullPageWrites) add("full_page_writes", "refused", off("full_page_writes"));
  if (safeCommits.has(synchronousCommit)) return;
  const lost = `synchronous_commit is ${synchronousCommit} in our sessions, so a crash or a failover loses orders that were acknowledged: set it to on, for our role and our database too`;
  if (durability === "waived") add("synchronous_commit", "alarm", `${lost}.`);
  else
    add("synchronous_commit", "refused", `${lost}, or set DEEDHOUSE_ALLOW_LOST_COMMITS=1 if that loss is acceptable.`);
}

function judgeStandbys({ synchronousStandbys }: DatabaseFacts, add: Add): void {
  if (synchronousStandbys === null) {
    const blind = "Whether a synchronous standby is connected cannot be seen: GRANT pg_monitor to our role.";
    add("synchronous_standby", "alarm", blind);
  } else if (synchronousStandbys === 0) {
    const alone =
      "No synchronous standby is connected, so what is acknowledged now exists on one machine: start the standby, or check synchronous_standby_names.";
    add("synchronous_standby", "alarm", alone);
  }
}

/** The sentences of what is refused, one a line; undefined: nothing is. */
export function refusalOf(findings: readonly Finding[]): string | undefined {
  const refused = findings.filter(({ weight }) => weight === "refused").map(({ sentence }) => sentence);
  return refused.length === 0 ? undefined : refused.join("\n");
}
