import assert from "node:assert/strict";
import { test } from "node:test";
import { change, domain, own, received, startStage } from "./stage.ts";

const name = "signed.example";
const target = `/domains/${name}/dnssec`;
const ds = (digit: string, more: object = {}) => {
  return { key_tag: 55_648, algorithm: 13, digest_type: 2, digest: digit.repeat(64), ...more };
};
/** RFC 6605 §6.1. */
const publicKey = "GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==";
const key = { flags: 257, protocol: 3, algorithm: 13, public_key: publicKey };

type Stage = Awaited<ReturnType<typeof startStage>>;
const recordsOf = async (stage: Stage, of = name) => (await domain(stage, of)).dnssec;

/** Sends a request that is refused. @returns the field that its answer names */
async function refusedField({ gateway, reseller }: Stage, body: object, at = target): Promise<string | undefined> {
  const reply = await gateway.send(reseller, "PUT", at, { body });
  assert.equal(reply.status, 400, `${JSON.stringify(body)}: ${reply.text}`);
  return (reply.body as { validation_errors: { field: string }[] }).validation_errors[0]?.field;
}

test("the registry has the DS records that were ordered, and the portfolio shows them", async (t) => {
  const stage = await startStage(t, [name]);
  const set = (...records: object[]) => change(stage, "PUT", target, { ds: records });
  assert.equal(await recordsOf(stage), null);
  const done = await set(ds("a"), ds("B"));
  assert.deepEqual([done.kind, done.status], ["dnssec", "Finished"]);
  assert.deepEqual(await recordsOf(stage), { ds: [ds("A"), ds("B")] });
  const sent = received(stage, name, "domain:update").length;
  assert.equal((await set(ds("b"), ds("A"))).status, "Finished");
  assert.equal(received(stage, name, "domain:update").length, sent, "case and order make no difference");
  assert.equal((await set(ds("B"), ds("C"))).status, "Finished");
  assert.deepEqual(await recordsOf(stage), { ds: [ds("B"), ds("C")] });
  assert.equal((await set(ds("D"))).status, "Finished");
  assert.deepEqual(await recordsOf(stage), { ds: [ds("D")] });
  assert.equal((await set()).status, "Finished");
  assert.equal(await recordsOf(stage), null);
  assert.equal(stage.gateway.registry.store.domains.find(name)?.security, undefined);
});

test("a registry that takes DS records gets those of the keys that are sent", async (t) => {
  const stage = await startStage(t, [name]);
  assert.equal((await change(stage, "PUT", target, { keys: [key] })).status, "Finished");
  const [record, ...others] = stage.gateway.registry.store.domains.find(name)?.security?.dsData ?? [];
  assert.deepEqual([record?.keyTag, record?.alg, record?.digestType, others.length], [55_648, 13, 2, 0]);
  assert.deepEqual(await recordsOf(stage), {
    ds: [{ key_tag: 55_648, algorithm: 13, digest_type: 2, digest: record?.digest }],
  });
});

test("a registry that makes the DS records itself gets keys, and refuses ds", async (t) => {
  const stage = await startStage(t, [name], { registry: { secDns: "keys" } });
  assert.equal(await refusedField(stage, { ds: [ds("a")] }), "ds");
  const folded = `${publicKey.slice(0, 40)}\n ${publicKey.slice(40)}`;
  assert.equal((await change(stage, "PUT", target, { keys: [{ ...key, public_key: folded }] })).status, "Finished");
  assert.deepEqual(await recordsOf(stage), { keys: [key] });
  assert.equal((await change(stage, "PUT", target, { ds: [] })).status, "Finished");
  assert.equal(await recordsOf(stage), null);
});

test("a registry without DNSSEC takes no record: its profile says so at once, else the registry", async (t) => {
  const stage = await startStage(t, [name], {
    sandbox: { extensions: ["rgp", "fee", "loginSec"] },
    moreRegistries: [{ id: "none", suffixes: ["none"], profile: { secDns: "none" } }],
  });
  await own(stage, "signed.none");
  assert.equal(await refusedField(stage, { ds: [ds("a")] }, "/domains/signed.none/dnssec"), "ds");
  assert.equal(await refusedField(stage, { keys: [] }, "/domains/signed.none/dnssec"), "keys");
  const unoffered = await change(stage, "PUT", target, { ds: [ds("a")] });
  assert.equal(unoffered.status, "Errors");
  assert.match(String(unoffered.error_text), /does not offer the extension .*secDNS/);
});

test("SHA-1 is refused in new records; what is there already can stay, and be removed", async (t) => {
  const stage = await startStage(t, [name]);
  const { store } = stage.gateway.registry;
  const old = { keyTag: 1, alg: 5, digestType: 1, digest: "A".repeat(40), keyData: undefined };
  const oldDs = { key_tag: 1, algorithm: 5, digest_type: 1, digest: "A".repeat(40) };
  assert.equal(await refusedField(stage, { ds: [oldDs] }), "ds/0/algorithm");
  store.domains.put({ ...store.domains.find(name)!, security: { dsData: [old], keyData: [] } });
  // Any order shows it.
  await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  assert.equal((await change(stage, "PUT", target, { ds: [oldDs, ds("A")] })).status, "Finished");
  assert.deepEqual(await recordsOf(stage), { ds: [oldDs, ds("A")] });
  assert.equal((await change(stage, "PUT", target, { ds: [ds("A")] })).status, "Finished");
  assert.deepEqual(await recordsOf(stage), { ds: [ds("A")] });
});

test("what is wrong with a record is answered with 400 and its field", async (t) => {
  const stage = await startStage(t, [name]);
  const wrong: [body: object, field: string][] = [
    [{}, "ds"],
    [{ ds: [], keys: [] }, "keys"],
    [{ ds: "all" }, "ds"],
    [{ ds: Array.from({ length: 11 }, (_, index) => ds("a", { key_tag: index })) }, "ds"],
    [{ ds: [ds("a"), ds("A")] }, "ds/1"],
    [{ ds: [ds("a", { key_tag: 65_536 })] }, "ds/0/key_tag"],
    [{ ds: [ds("x")] }, "ds/0/digest"],
    [{ ds: [ds("a", { digest: "ab" })] }, "ds/0/digest"],
    [{ ds: [ds("a", { digest_type: 4 })] }, "ds/0/digest"],
    ...[0, 1, 3, 7].map((type): [object, string] => [{ ds: [ds("a", { digest_type: type })] }, "ds/0/digest_type"]),
    ...[1, 3, 5, 6, 7, 9, 12, 253].map((algorithm): [object, string] => {
      return [{ ds: [ds("a", { algorithm })] }, "ds/0/algorithm"];
    }),
    [{ keys: [{ ...key, algorithm: 7 }] }, "keys/0/algorithm"],
    [{ keys: [{ ...key, flags: 0 }] }, "keys/0/flags"],
    [{ keys: [{ ...key, protocol: 2 }] }, "keys/0/protocol"],
    [{ keys: [{ ...key, public_key: "%" }] }, "keys/0/public_key"],
    [{ keys: [{ ...key, public_key: "AAAA" }] }, "keys/0/public_key"],
    [{ keys: [{ ...key, algorithm: 8, public_key: "AAAA" }] }, "keys/0/public_key"],
    [{ keys: [key, key] }, "keys/1"],
  ];
  for (const [body, field] of wrong) assert.equal(await refusedField(stage, body), field, JSON.stringify(body));
  assert.equal(await recordsOf(stage), null);
});
