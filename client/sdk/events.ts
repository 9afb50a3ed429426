import { findNextQuery, queryOf } from "./items.ts";
import { Resource } from "./resource.ts";
import { answerOf, arrayBody } from "./response.ts";
import type { EventOptions, EventPage, EventPageOptions, ServiceEvent } from "./types.ts";

/** The longest that the service holds an answer. */
const waitSecondsMax = 30;

/** What has happened. */
export class Events extends Resource {
  /** The next events, the oldest first, at most 1,000. */
  async page({ after, types, take, waitSeconds, signal }: EventPageOptions = {}): Promise<EventPage> {
    const query = queryOf({ after, types: types?.join(","), take });
    const reply = await this.api.send({ method: "GET", path: "/events", query, waitSeconds, signal });
    const next = new URLSearchParams(findNextQuery(reply)).get("after");
    return { ...answerOf(reply, arrayBody<ServiceEvent>(reply)), next: next ?? after ?? "" };
  }

  /** Every event, as it happens: the iteration ends only by its signal or an error. */
  async *follow({ after, types, signal }: EventOptions = {}): AsyncGenerator<ServiceEvent> {
    for (let from = after; ; ) {
      const page = await this.page({ after: from, types, signal, waitSeconds: waitSecondsMax });
      for (const event of page.data) {
        signal?.throwIfAborted();
        yield event;
      }
      from = page.next;
    }
  }
}
