/** Events as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), as they happen. */
import { Readable } from "node:stream";
import type { Context } from "#context.ts";
import { waitForNotification } from "#db/wait.ts";
import { presentEvent, typesOf } from "#events/catalogue.ts";
import { type EventPage, lookAgainMs, type Position, positionText, readEvents } from "#events/log.ts";
import { sleep } from "#lib/clock.ts";
import type { UseCaseRequest } from "#use-case/use-case.ts";

const heartbeatMs = 15_000;
/** How soon a stream ends after its key was revoked. */
const keyLookMs = 250;
/** How long a client may take to read the end of a stream whose key was revoked. */
const lastReadMs = 500;
/** How long a client waits before it connects again. */
const reconnectMs = 2_000;
const eventsAtOnceMax = 100;

export interface StreamStart {
  after: Position;
  /** Those that the client has selected; its key may allow fewer, or fewer later. */
  types: readonly string[];
}

/** A stream's text: it ends when its key may not be used any more, and never by itself. */
export function streamEvents(context: Context, request: UseCaseRequest, start: StreamStart): Readable {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, request.signal()]);
  const frames = framesOf(context, request, { ...start, signal });
  const stream = new Readable({
    read() {
      frames.next().then(
        ({ value, done }) => this.push(done ? null : value),
        (error: Error) => this.destroy(error),
      );
    },
    // `Readable.from` would end only when the generator has stopped waiting.
    destroy(error, callback) {
      over.abort();
      callback(error);
    },
  });
  const closed = new AbortController();
  stream.once("close", () => closed.abort());
  endWithKey(request, signal)
    .then(async (isRevoked) => {
      // A server that drains: the stream ends after the page that is being sent, however slowly the client reads it.
      if (!isRevoked) return;
      over.abort();
      await sleep(lastReadMs, closed.signal);
      // The end is never asked for by a client that does not read.
      if (!closed.signal.aborted) throw new Error("the key of a stream was revoked, and its client does not read");
    })
    // The next connection of the client begins where this one ended.
    .catch((error: Error) => stream.destroy(error));
  return stream;
}

/** @returns whether the key was revoked before the signal fired */
async function endWithKey(request: UseCaseRequest, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted && (await request.callerNow())) await sleep(keyLookMs, signal);
  return !signal.aborted;
}

async function* framesOf(
  context: Context,
  request: UseCaseRequest,
  { after, types, signal }: StreamStart & { signal: AbortSignal },
): AsyncGenerator<string> {
  const { resellerId } = request.caller;
  let position = after;
  // A client that loses its connection before the first event goes on from here.
  yield `retry: ${reconnectMs}\nid: ${positionText(position)}\n\n`;
  for (;;) {
    const page = await waitForNotification(context, "events", String(resellerId), {
      async read() {
        const scopes = (await request.callerNow())?.scopes ?? [];
        const allowed = typesOf(scopes).filter((type) => types.includes(type));
        return readEvents(context, { resellerId, types: allowed, after: position, limit: eventsAtOnceMax });
      },
      isAwaited: ({ events }) => events.length > 0,
      lookAgainMs,
      waitMs: heartbeatMs,
      signal,
    });
    // A page that was read without a key is empty whatever happened: its end is not a place to go on from.
    if (signal.aborted || !(await request.callerNow())) return;
    position = page.next;
    if (page.events.length > 0) {
      yield framesOfPage(page);
      continue;
    }
    // A process with too many waiters does not wait.
    await sleep(keyLookMs, signal);
    // An id without data: the client goes on from here, however long there was nothing for it.
    yield `: heartbeat\nid: ${positionText(position)}\n\n`;
  }
}

const framesOfPage = ({ events }: EventPage) =>
  events
    .map((event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(presentEvent(event))}\n\n`)
    .join("");
