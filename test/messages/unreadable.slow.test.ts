/** Messages that cannot be read or applied: none of them blocks those behind it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { own, startStage } from "../changes/stage.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import { alarmed, historyOf, quick, send, stored, untilRead } from "./stage.ts";

const answer = (rest: string, queue = '<msgQ count="1" id="$id"/>') =>
  `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>ack</msg></result>${queue}${rest}
    <trID><clTRID>$clTRID</clTRID><svTRID>$svTRID</svTRID></trID></response></epp>`;
const mebibyte = 1024 * 1024;

test("a malformed, hostile or huge message is kept and acknowledged, with one alarm, and orders go on", async (t) => {
  const circuit = {
    faultsMax: 2,
    faultWindowMs: 60_000,
    probeDelayMsMin: 600_000,
    probeDelayMsMax: 600_000,
    refusedDelayMs: 1,
  };
  const stage = await startStage(t, ["a.example"], { registry: { ...quick, circuit } });
  const { gateway } = stage;
  const deep = "<x>".repeat(100);
  const ids = [
    await send(gateway, { raw: answer("<resData><pw>hunter2</pw><broken</resData>") }),
    await send(gateway, { raw: `<!DOCTYPE epp [<!ENTITY a "b">]>${answer("")}` }),
    await send(gateway, { raw: answer(`<resData>${deep}</resData>`) }),
    await send(gateway, { raw: answer(""), padBytes: 5 * mebibyte }),
  ];
  const kept = await stored(gateway);
  assert.deepEqual(kept.map(({ message_id: id }) => id).toSorted(), ids.toSorted());
  assert.ok(
    kept.every(({ kind, outcome, needs_operator: needs }) => kind === "unreadable" && outcome === "kept" && needs),
  );
  assert.doesNotMatch(JSON.stringify(kept), /hunter2/);
  assert.deepEqual(await alarmed(gateway), ["messages-kept sandbox/unreadable"]);
  // Each was read twice: the circuit would be open.
  await own(stage, "b.example");
});

test("a message whose values the database refuses is kept without its effect, and the next one is read", async (t) => {
  const name = "refused.example";
  const { gateway } = await startStage(t, [name], { registry: quick });
  const refusal = "ALTER TABLE domain_history ADD CONSTRAINT refusal CHECK (note <> 'poison')";
  await runSql(gateway.databaseUrl, refusal);
  const xml = `<domain:renData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>${name}</domain:name></domain:renData>`;
  await send(gateway, { text: "poison", xml });
  await send(gateway, { text: "harmless", xml });
  assert.deepEqual(
    (await stored(gateway)).map(({ kind, message_text: text }) => [kind, text]),
    [
      ["unreadable", "the database refuses its values (SQLSTATE 23514): poison"],
      ["object", "harmless"],
    ],
  );
  assert.deepEqual(await historyOf(gateway, name), [{ event: "registry-notice", note: "harmless" }]);
});

test("a transfer with a date that cannot be stored goes into the history only", async (t) => {
  const name = "dated.example";
  const { gateway } = await startStage(t, [name], { registry: quick });
  const at = "9999-12-31T23:59:59-12:00";
  await gateway.registry.transfer({ name, op: "request" });
  await untilRead(gateway);
  const transfer = "SELECT transfer FROM domains";
  const before = await runSql(gateway.databaseUrl, transfer);
  const trnData = `<resData><d:trnData xmlns:d="urn:ietf:params:xml:ns:domain-1.0"><d:name>${name}</d:name>
    <d:trStatus>pending</d:trStatus><d:reID>rival</d:reID><d:reDate>${at}</d:reDate><d:acID>deedhouse</d:acID>
    <d:acDate>${at}</d:acDate></d:trnData></resData>`;
  await send(gateway, { raw: answer(trnData) });
  assert.deepEqual(await runSql(gateway.databaseUrl, transfer), before);
  assert.equal((await stored(gateway)).at(-1)?.kind, "object");
});

test("a queue that shows no id is an alarm, which ends when the queue is read again", async (t) => {
  const gateway = await startTestGateway(t, { registry: quick });
  const { messages } = gateway.registry.store;
  const id = await gateway.registry.enqueueMessage({ registrar: "deedhouse", raw: answer("", "<msgQ/>") });
  await until("it is alarmed", async () => (await alarmed(gateway)).includes("messages-blocked sandbox"));
  messages.delete(id);
  await until("it is resolved", async () => (await alarmed(gateway)).length === 0);
});

test("an operator pages through kept messages, and ends a kind with its alarm", async (t) => {
  const gateway = await startTestGateway(t, { registry: quick });
  for (const text of ["one", "two", "three, write to jo@registry.example"]) await send(gateway, { text });
  type Row = { message_id: string; text: string };
  const list = (...args: string[]) => operated<Row[]>(gateway, "messages", "list", "--limit", "2", ...args);
  const first = await list();
  assert.deepEqual(
    first.map(({ text }) => text),
    ["three, write to [secret]", "two"],
  );
  const last = `sandbox/${first[1]?.message_id}`;
  assert.deepEqual(
    (await list("--after", last, "--kind", "notice")).map(({ text }) => text),
    ["one"],
  );
  await assertRefused(gateway, ["messages", "list", "--after", "sandbox/none"], 4, /there is no message sandbox\/none/);
  await assertRefused(gateway, ["messages", "done", "sandbox", "--note", "x"], 2, /either a message's id or --kind/);
  await operated(gateway, "messages", "done", "sandbox", String(first[0]?.message_id), "--note", "read");
  assert.deepEqual(await alarmed(gateway), ["messages-kept sandbox/notice"]);
  const done = await operated(gateway, "messages", "done", "sandbox", "--kind", "notice", "--note", "read");
  assert.equal(done.messages, 2);
  assert.deepEqual([await alarmed(gateway), await list()], [[], []]);
  assert.equal((await list("--all")).length, 2);
});
