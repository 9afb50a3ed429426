/** GET /events: what has happened to the caller's names and accounts, the oldest first; also as a stream. */
import Type from "typebox";
import type { Context } from "#context.ts";
import { waitForNotification } from "#db/wait.ts";
import { ApiError, invalidField } from "#errors.ts";
import { eventShape, eventTypes, presentEvent, scopesFor, selectTypes, typesOf } from "#events/catalogue.ts";
import {
  endOfEvents,
  eventsBegin,
  lookAgainMs,
  type Position,
  parsePosition,
  placeOfTime,
  positionText,
  readEvents,
} from "#events/log.ts";
import { streamEvents } from "#events/stream.ts";
import { parseInstant, readFilter } from "#use-case/filter.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { waitApplied } from "#use-case/wait-applied.ts";

const takeDefault = 100;
const takeMax = 1_000;
const wordsMax = 50;

export const listEvents: UseCase = {
  errors: ["bad_request", "events_expired"],
  scope: scopesFor(eventTypes),
  docs: {
    operation: "listEvents",
    summary: "Lists what has happened to your names and hosting accounts, the oldest first.",
    description:
      "Events are kept for 90 days. The `link` leads on from here, now or later: store it, and no event is passed over. A key reads the events of its scopes. `Prefer: wait=N` holds the answer until there is an event. With `Accept: text/event-stream` they are sent as they happen.",
    query: Type.Object({
      after: Type.Optional(
        Type.String({
          description:
            "The id of an event, as a `link` has it, `now`, or a time: then the list begins at most a minute before it. Default: the beginning.",
        }),
      ),
      types: Type.Optional(
        Type.String({
          description: "With commas: types, or families such as `domain.*`. Default: all.",
          examples: ["domain.*,order.failed"],
        }),
      ),
      take: Type.Optional(Type.Integer({ minimum: 1, maximum: takeMax, default: takeDefault })),
    }),
    answers: {
      200: {
        description: "The next events; an empty list when there are none yet.",
        body: Type.Array(eventShape),
        headers: ["link", "preference-applied?"],
        isStreamToo: true,
      },
    },
  },

  async handle(context, request) {
    const types = readTypes(request.query);
    const given = await findPlace(context, readAfter(request));
    if (request.wantsOnly("text/event-stream")) return answerStream(context, request, types, given);
    const take = readTake(request.query);
    const allowed = typesOf(request.caller.scopes).filter((type) => types.includes(type));
    const { resellerId } = request.caller;
    const read = () => readEvents(context, { resellerId, types: allowed, after: given ?? eventsBegin, limit: take });
    const page = await waitForNotification(context, "events", String(resellerId), {
      read,
      isAwaited: ({ events, gap }) => events.length > 0 || gap !== undefined,
      lookAgainMs,
      waitMs: request.waitSeconds * 1000,
      signal: request.signal(),
    });
    refuseGap(page.gap);
    const query = new URLSearchParams({ after: positionText(page.next), take: String(take) });
    const words = request.query.get("types");
    if (words !== null) query.set("types", words);
    return {
      status: 200,
      headers: { ...waitApplied(request), link: `<${request.prefix}/events?${query}>; rel="next"` },
      body: page.events.map(presentEvent),
    };
  },
};

async function answerStream(
  context: Context,
  request: UseCaseRequest,
  types: readonly string[],
  given: Position | undefined,
): Promise<Answer> {
  const last = readLastEventId(request.lastEventId);
  const start = last ?? given;
  if (start) {
    const { resellerId } = request.caller;
    const { gap } = await readEvents(context, { resellerId, types: [], after: start, limit: 1 });
    refuseGap(gap);
  }
  const after = start ?? (await endOfEvents(context));
  const end = await request.beginLong("events");
  const stream = streamEvents(context, request, { after, types });
  stream.once("close", end);
  return { status: 200, headers: { "content-type": "text/event-stream; charset=utf-8" }, stream };
}

function refuseGap(gap: "expired" | "ahead" | undefined): void {
  if (gap === undefined) return;
  const ahead = "This place in the events is from before the database was restored from a backup.";
  throw new ApiError("events_expired", gap === "ahead" ? { text: `${ahead} ${advice}` } : {});
}
const advice = "Read your lists, and begin again without after.";

/** @throws ApiError `bad_request` */
function readAfter({ query }: UseCaseRequest): Position | "now" | Date | undefined {
  const wanted = "Give the id of an event, what a link has, now, or a time such as 2027-01-31T12:00:00Z";
  return readFilter(query, "after", wanted, (text) => {
    if (text === "now") return text;
    const instant = parseInstant(text);
    return instant === undefined ? parsePosition(text) : new Date(instant);
  });
}

async function findPlace(context: Context, after: ReturnType<typeof readAfter>): Promise<Position | undefined> {
  if (after === "now") return endOfEvents(context);
  return after instanceof Date ? placeOfTime(context, after) : after;
}

/** @throws ApiError `bad_request` */
function readLastEventId(given: string | undefined): Position | undefined {
  const position = given === undefined ? undefined : parsePosition(given);
  if (given !== undefined && !position) throw invalidField("last-event-id", "Give the id of an event.");
  return position;
}

/** @throws ApiError `bad_request` */
function readTypes(query: URLSearchParams): string[] {
  const wanted = `Name at most ${wordsMax} types or families such as domain.*, with commas; the types are ${eventTypes.join(", ")}`;
  const given = readFilter(query, "types", wanted, (text) => {
    const words = text.split(",").map((word) => word.trim());
    const selected = words.map(selectTypes);
    return words.length > wordsMax || selected.includes(undefined) ? undefined : selected.flatMap((types) => types!);
  });
  return given ?? eventTypes;
}

/** @throws ApiError `bad_request` */
function readTake(query: URLSearchParams): number {
  const take = readFilter(query, "take", `Give a number of 1 to ${takeMax}`, (text) =>
    /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : undefined,
  );
  return Math.min(take ?? takeDefault, takeMax);
}
