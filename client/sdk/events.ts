import { findNextQuery, pageQuery } from "./paging.ts";
import { arrayBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type { CallOptions } from "./types.ts";

/** What has happened to a name, an order or a hosting account. */
export interface ServiceEvent {
  /** Also a place: `after` it come the events that follow. */
  id: string;
  /** For example `domain.registered`; a program ignores types that it does not know. */
  type: string;
  created_at: string;
  /** By type. */
  data: Readonly<Record<string, unknown>>;
}

export interface EventOptions extends CallOptions {
  /** The id of the last event that you have handled. Default: the oldest event that is kept, 90 days back. */
  after?: string | undefined;
  /** Types, or families such as `domain.*`; by default all that the key may read. */
  types?: readonly string[] | undefined;
}

export interface EventPage {
  events: ServiceEvent[];
  /** For `after` of the next call. It leads on even if there were no events. */
  next: string;
}

/** The calls about what has happened. */
export interface EventCalls {
  /** The next events, the oldest first, at most 1,000. */
  listEvents(options?: EventOptions & { take?: number; waitSeconds?: number }): Promise<EventPage>;
  /** Every event, as it happens: the iteration ends only by its signal or an error. */
  followEvents(options?: EventOptions): AsyncGenerator<ServiceEvent>;
}

/** The longest that the service holds an answer. */
const waitSecondsMax = 30;

export function eventCalls(send: Send): EventCalls {
  const listEvents: EventCalls["listEvents"] = async ({ after, types, take, waitSeconds, signal } = {}) => {
    const query = pageQuery({ take }, { after, types: types?.join(",") });
    const reply = await send({ method: "GET", path: "/events", query, waitSeconds, signal });
    const next = new URLSearchParams(findNextQuery(reply.headers.get("link"))).get("after");
    return { events: arrayBody<ServiceEvent>(reply), next: next ?? after ?? "" };
  };
  return {
    listEvents,
    async *followEvents({ after, types, signal } = {}) {
      for (let from = after; ; ) {
        const { events, next } = await listEvents({ after: from, types, signal, waitSeconds: waitSecondsMax });
        yield* events;
        from = next;
      }
    },
  };
}
