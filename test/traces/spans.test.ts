/** How spans hang together in one process, with OpenTelemetry's SDK. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Batcher } from "#db/batch.ts";
import { createLog } from "#lib/log.ts";
import { readTraces, sdkVersion, sendSpans } from "#lib/measure/send-spans.ts";
import { inSpan, inStatement, traceparentFor } from "#lib/measure/tracing.ts";
import { FairQueue } from "#lib/queues/fair-queue.ts";
import manifest from "../../package.json" with { type: "json" };
import { type Collector, startCollector } from "../harness/collector.ts";
import { eventually } from "../harness/running-system.ts";

const ends: (() => unknown)[] = [];
let collector: Collector;

before(async () => {
  collector = await startCollector({ after: (work) => ends.push(work) });
  Object.assign(process.env, collector.environment);
  const sending = await sendSpans({ serviceName: "in-process" }, "test", createLog("test", "silent"));
  ends.push(() => sending.close());
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

const inRequest = <T>(name: string, work: () => Promise<T>) => inSpan({ name, parent: null, attributes: {} }, work);

async function spanOf(name: string) {
  const found = () => collector.spans().find((span) => span.name === name);
  await eventually(`the span ${name} arrives`, () => found() !== undefined);
  return found()!;
}

test("work that waited for its turn belongs to its caller, not to what has made room for it", async () => {
  const queue = new FairQueue({ runningMax: 1, waitingMax: 5 });
  const room = Promise.withResolvers<void>();
  const ask = (name: string, work: () => Promise<void>) =>
    inRequest(name, () => queue.run([[name]], () => inStatement(`of ${name}`, work)));
  const asked = [ask("first", () => room.promise), ask("second", async () => {}), ask("third", async () => {})];
  room.resolve();
  await Promise.all(asked);
  for (const name of ["first", "second", "third"]) {
    const [request, own] = [await spanOf(name), await spanOf(`of ${name}`)];
    assert.deepEqual([own.traceId, own.parentSpanId], [request.traceId, request.spanId], name);
  }
});

test("each caller of a batch has a span of its own for it, and the batch has none", async () => {
  const batcher = new Batcher((items) =>
    inStatement("a batch", async () => (JSON.parse(items) as { item: number }[]).map(({ item }) => ({ item }))),
  );
  const add = (name: string) => inRequest(name, () => inStatement(`item of ${name}`, () => batcher.add({ name })));
  await Promise.all(["one", "two"].map(add));
  for (const name of ["one", "two"]) {
    const [request, own] = [await spanOf(name), await spanOf(`item of ${name}`)];
    assert.deepEqual([own.traceId, own.parentSpanId], [request.traceId, request.spanId], name);
  }
  assert.ok(!collector.spans().some(({ name }) => name === "a batch"));
});

test("of an error that a span met, only its kind is sent", async () => {
  const refused = Object.assign(new Error("Key (domain_name)=(shop.example) already exists."), { code: "23505" });
  const lost = new RangeError("shop.example");
  for (const [name, error] of [
    ["refused", refused],
    ["lost", lost],
  ] as const) {
    const failing = inRequest(name, () => inStatement(`failing ${name}`, () => Promise.reject(error)));
    await assert.rejects(failing, error);
  }
  const kinds = [(await spanOf("failing refused")).attributes, (await spanOf("failing lost")).attributes];
  assert.deepEqual(
    kinds.map((attributes) => attributes["error.type"]),
    ["23505", "RangeError"],
  );
  assert.ok(!collector.received().includes("shop.example"));
});

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const sound = `00-${traceId}-${spanId}-01`;
const received: [what: string, text: string | undefined, stored: string | null][] = [
  ["a sound one", sound, sound],
  ["one that is not recorded", `00-${traceId}-${spanId}-00`, `00-${traceId}-${spanId}-00`],
  ["one of a later version", `cc-${traceId}-${spanId}-09-more`, sound],
  ["none", undefined, null],
  ["two", `${sound}, ${sound}`, null],
  ["one of this version with more", `${sound}-more`, null],
  ["the forbidden version", `ff-${traceId}-${spanId}-01`, null],
  ["no trace", `00-${"0".repeat(32)}-${spanId}-01`, null],
  ["no span", `00-${traceId}-${"0".repeat(16)}-01`, null],
  ["capitals", sound.toUpperCase(), null],
];
for (const [what, text, stored] of received) {
  test(`outside a span, ${what} of a proxy is ${stored === null ? "not " : ""}taken over`, () => {
    assert.equal(traceparentFor(text), stored);
  });
}

test("within a span, its own traceparent is stored, as a part of the trace that it continues", async () => {
  const stored = await inSpan({ name: "asked", parent: sound, attributes: {} }, async () => traceparentFor(undefined));
  const { spanId: own, parentSpanId } = await spanOf("asked");
  assert.equal(parentSpanId, spanId);
  assert.equal(stored, `00-${traceId}-${own}-01`);
});

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.example:4318" };
for (const [what, environment, isOn] of [
  ["nothing is set", {}, false],
  ["there is a collector", endpoint, true],
  [
    "there is a collector of traces",
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.OTEL_EXPORTER_OTLP_ENDPOINT },
    true,
  ],
  ["the SDK is disabled", { ...endpoint, OTEL_SDK_DISABLED: "True" }, false],
  ["traces have no exporter", { ...endpoint, OTEL_TRACES_EXPORTER: "none" }, false],
] as [string, NodeJS.ProcessEnv, boolean][]) {
  test(`${isOn ? "sends" : "sends no"} spans when ${what}`, () => {
    assert.equal(readTraces(environment) !== undefined, isOn);
  });
}

test("the release of the SDK that check-config names is the one that tests use", () => {
  assert.equal(sdkVersion, manifest.devDependencies["@opentelemetry/sdk-node"]);
});
