/**
 * Where the time of one request or one order goes, as spans of OpenTelemetry. Code says in one line what it does, and does not know who
 * records it. While nobody does, a line costs a comparison.
 *
 * Spans leave the house, so they say no more than the labels of metrics do, and ids: no value of a statement, no name, and of an error
 * only its kind, because its text may have either.
 */
import {
  type Attributes,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";

let tracer: Tracer | undefined;

/** From now on, this tracer records; undefined: nobody does. */
export function recordWith(recorder: Tracer | undefined): void {
  tracer = recorder;
}

export interface Work {
  name: string;
  /** Whether somebody else waits for it or does it. By default neither. */
  kind?: "server" | "client";
  /** The traceparent of what asked for it, perhaps long ago; null: nothing did. By default it is a part of the span in progress. */
  parent?: string | null | undefined;
  attributes: Attributes;
}

/** What is known only later. */
export interface OpenSpan {
  rename(name: string): void;
  add(attributes: Attributes): void;
  /** @param kind of the error */
  fail(kind: string): void;
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

/** @param work gets its span, if somebody records it; an error of its own makes it a failed one */
export function inSpan<Result>(about: Work, work: (span?: OpenSpan) => Promise<Result>): Promise<Result> {
  return tracer === undefined ? work() : record(tracer, about, work);
}

/** A statement of a request or a step. What nobody has asked for, such as a look for due rows, has no span. */
export function inStatement<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  if (tracer === undefined || trace.getActiveSpan() === undefined) return work();
  return record(tracer, { name, kind: "client", attributes: { "db.system.name": "postgresql" } }, work);
}

async function record<Result>(
  recorder: Tracer,
  { name, kind, parent, attributes }: Work,
  work: (span: OpenSpan) => Promise<Result>,
): Promise<Result> {
  const within = parent === undefined ? context.active() : contextOf(parent);
  const span = recorder.startSpan(name, { kind: kind ? kinds[kind] : SpanKind.INTERNAL, attributes }, within);
  try {
    return await context.with(trace.setSpan(within, span), work, undefined, openSpan(span));
  } catch (error) {
    openSpan(span).fail(kindOfError(error));
    throw error;
  } finally {
    span.end();
  }
}

const openSpan = (span: Span): OpenSpan => ({
  rename: (name) => span.updateName(name),
  add: (attributes) => span.setAttributes(attributes),
  fail: (kind) => span.setAttribute("error.type", kind).setStatus({ code: SpanStatusCode.ERROR }),
});

/** The code of PostgreSQL and of Node, or the name of the class. */
function kindOfError(error: unknown): string {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return String(code ?? name);
}

function contextOf(parent: string | null) {
  const received = parseTraceparent(parent ?? undefined);
  return received ? trace.setSpanContext(ROOT_CONTEXT, received) : ROOT_CONTEXT;
}

/** Does what belongs to no single span: a batch, which the caller of each item has a span of its own for. */
export function outsideSpans<Result>(work: () => Result): Result {
  return tracer === undefined ? work() : context.with(ROOT_CONTEXT, work);
}

/** For a queue that begins the work where something else has ended: the work stays in the span of its caller. */
export function keepSpan<Result>(work: () => Result): () => Result {
  return tracer === undefined ? work : context.bind(context.active(), work);
}

/**
 * What is stored with work that is done later: the traceparent of the span in progress; while nobody records here, that of who asks.
 * @param received from a trusted proxy
 */
export function traceparentFor(received: string | undefined): string | null {
  const active = tracer && trace.getActiveSpan()?.spanContext();
  const known = active ?? parseTraceparent(received);
  if (!known) return null;
  return `00-${known.traceId}-${known.spanId}-${known.traceFlags.toString(16).padStart(2, "0")}`;
}

/** W3C Trace Context §3.2. A later version may have more at its end. */
const traceparentShape = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The only flag that is defined: who asks has perhaps recorded it. */
const sampledFlag = 1;

function parseTraceparent(text = ""): SpanContext | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = traceparentShape.exec(text) ?? [];
  if (version === "00" && more !== undefined) return undefined;
  const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & sampledFlag, isRemote: true };
  return isSpanContextValid(found) ? found : undefined;
}
