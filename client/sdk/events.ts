import { findNextQuery, pageQuery } from "./paging.ts";
import { answerOf, arrayBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type { EventOptions, EventPage, EventPageOptions, ServiceEvent } from "./types.ts";

/** The calls about what has happened. */
export interface EventCalls {
  /** The next events, the oldest first, at most 1,000. */
  listEvents(options?: EventPageOptions): Promise<EventPage>;
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
    return { ...answerOf(reply, arrayBody<ServiceEvent>(reply)), next: next ?? after ?? "" };
  };
  return {
    listEvents,
    async *followEvents({ after, types, signal } = {}) {
      for (let from = after; ; ) {
        const page = await listEvents({ after: from, types, signal, waitSeconds: waitSecondsMax });
        for (const event of page.data) {
          signal?.throwIfAborted();
          yield event;
        }
        from = page.next;
      }
    },
  };
}
