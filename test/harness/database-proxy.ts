/**
 * A proxy between the gateway and PostgreSQL. It can make the database unavailable, hold back the answer to a COMMIT,
 * and record the executed statements. It reads the client's half of PostgreSQL's protocol 3 (manual, chapter "Message
 * Flow").
 */
import { startTcpRelay } from "./tcp-relay.ts";

export interface DatabaseProxy {
  url: string;
  /** The name of each executed prepared statement, or the text of a simple query, in order. */
  executed: string[];
  /**
   * How often the answer to something was awaited since the last call, on all connections together. Needs `gatherMs`, else 0.
   */
  takeRoundTrips(): number;
  /** Cuts all connections and refuses new ones. */
  cut(): void;
  restore(): void;
  /** Stops transmitting on the existing connections, which stay open, like a firewall that has forgotten them. */
  silence(): void;
  /** The same for new connections, too, until `restore`: they open, and nothing arrives on them, like those to a stopped server. */
  dropRoute(): void;
  /**
   * Lets the next COMMIT, or the named statement that commits on its own, reach the database, and holds back its
   * answer. Resolves when it is committed.
   */
  holdNextCommitAnswer(statement?: string): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseProxyOptions {
  /**
   * Holds answers back until nobody has sent anything for so long, and then transmits them all. So what a program sends without
   * waiting for an answer is one round trip, however slowly its parts arrive. Undefined: answers go on at once.
   */
  gatherMs?: number;
}

/** @param databaseUrl with a host and port to connect to */
export async function startDatabaseProxy(
  databaseUrl: string,
  { gatherMs }: DatabaseProxyOptions = {},
): Promise<DatabaseProxy> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const executed: string[] = [];
  let committed: { by: string; resolve: () => void } | undefined;
  const gathered = gatherMs === undefined ? undefined : createAnswerGate(gatherMs);
  let silenced = new AbortController();
  let isRouteDropped = false;
  const silence = () => {
    silenced.abort();
    silenced = new AbortController();
  };
  const relay = await startTcpRelay({
    target: () => target,
    carry(client, upstream) {
      const signal = isRouteDropped ? AbortSignal.abort() : silenced.signal;
      let held: (() => void) | undefined;
      let heldBy: string | undefined;
      const readMessages = createMessageReader((executedNow) => {
        executed.push(executedNow);
        if (executedNow !== committed?.by) return;
        held = committed.resolve;
        heldBy = executedNow;
        committed = undefined;
      });
      client.on("data", (chunk) => {
        if (signal.aborted) return;
        gathered?.sent();
        readMessages(chunk);
        upstream.write(chunk);
      });
      upstream.on("data", (chunk) => {
        if (signal.aborted) return;
        if (gathered) return gathered.answered(() => client.write(chunk));
        // What was sent together with the COMMIT may be answered before it.
        if (held && (heldBy !== "COMMIT" || chunk.includes("COMMIT\0"))) held();
        if (!held) client.write(chunk);
      });
    },
  });
  url.hostname = "127.0.0.1";
  url.port = String(relay.port);
  return {
    url: url.href,
    executed,
    takeRoundTrips: () => gathered?.take() ?? 0,
    cut: relay.cut,
    restore() {
      isRouteDropped = false;
      relay.join();
    },
    silence,
    dropRoute() {
      isRouteDropped = true;
      silence();
    },
    holdNextCommitAnswer(by = "COMMIT") {
      const { promise, resolve } = Promise.withResolvers<void>();
      committed = { by, resolve };
      return promise;
    },
    close: () => {
      gathered?.close();
      return relay.close();
    },
  };
}

/** Gathers answers, and counts how often it released some. */
function createAnswerGate(gatherMs: number) {
  let waiting: (() => void)[] = [];
  let roundTrips = 0;
  let timer: NodeJS.Timeout | undefined;
  function release() {
    const released = waiting;
    waiting = [];
    roundTrips += 1;
    for (const answer of released) answer();
  }
  function restart() {
    clearTimeout(timer);
    timer = setTimeout(release, gatherMs);
  }
  return {
    sent() {
      if (waiting.length > 0) restart();
    },
    answered(transmit: () => void) {
      waiting.push(transmit);
      restart();
    },
    take() {
      const taken = roundTrips;
      roundTrips = 0;
      return taken;
    },
    close: () => clearTimeout(timer),
  };
}

/** Reads one client's messages. A Bind ("B") names the statement that its Execute runs; a Query ("Q") contains text. */
function createMessageReader(onExecute: (executed: string) => void): (chunk: Buffer) => void {
  let unread = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      // Only the start-up message has no type byte before its length.
      const typeBytes = isStarted ? 1 : 0;
      if (unread.length < typeBytes + 4) return;
      const end = typeBytes + unread.readUInt32BE(typeBytes);
      if (unread.length < end) return;
      const type = isStarted ? String.fromCharCode(unread[0] ?? 0) : "";
      const payload = unread.subarray(typeBytes + 4, end);
      if (type === "Q") onExecute(untilNul(payload, 0));
      if (type === "B") onExecute(untilNul(payload, payload.indexOf(0) + 1));
      isStarted = true;
      unread = unread.subarray(end);
    }
  };
}

function untilNul(bytes: Buffer, start: number): string {
  return bytes.subarray(start, bytes.indexOf(0, start)).toString();
}
