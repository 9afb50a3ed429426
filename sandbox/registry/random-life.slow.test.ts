import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Domain } from "./objects.ts";
import type { SandboxRegistry, SandboxRegistryOptions } from "./server.ts";
import {
  contactCreateFrame,
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  extended,
  feeUri,
  hostFrame,
  hostObjects,
  hostUri,
  infoFrame,
  renewFrame,
  rgpUri,
  secDnsUri,
  type TransferOp,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startFor } from "./test/setup.ts";

const hourMs = 60 * 60_000;
const everything = { objects: [domainUri, contactUri, hostUri], extension: [rgpUri, secDnsUri, feeUri] };
const stepsPerLife = 300;
const names = ["a.test", "b.test", "c.test", "pending-approve-d.test", "pending-deny-e.test"];
const hosts = ["ns1.a.test", "ns2.a.test", "ns1.b.test", "ns1.example.net"];
const restore = (op: string) =>
  `<rgp:update xmlns:rgp="${rgpUri}"><rgp:restore op="${op}">${op === "report" ? report : ""}</rgp:restore></rgp:update>`;
const report =
  "<rgp:report><rgp:preData/><rgp:postData/><rgp:delTime>2028-03-11T10:00:00Z</rgp:delTime>" +
  "<rgp:resTime>2028-03-12T10:00:00Z</rgp:resTime><rgp:resReason/><rgp:statement/></rgp:report>";

/** Numbers that look random and are the same for the same seed (a linear congruential generator). */
function drawFrom(seed: number): <Item>(items: readonly Item[]) => Item {
  let state = seed;
  return (items) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return items[Math.floor((state / 2 ** 32) * items.length)]!;
  };
}

type Draw = ReturnType<typeof drawFrom>;

/** A command that a registrar might send about the few objects there are; most make sense now and then only. */
function anyFrame({ store }: SandboxRegistry, draw: Draw): string {
  const name = draw(names);
  if (!store.domains.find(name) && draw([true, false])) return createFrame(name);
  const host = draw(hosts);
  const exDate = store.domains.find(name)?.exDate.slice(0, 10) ?? "2029-03-01";
  const address = host.endsWith(".net") ? "" : '<host:addr ip="v4">192.0.2.1</host:addr>';
  const change = (verb: string, content: string) => updateFrame(name, `<domain:${verb}>${content}</domain:${verb}>`);
  return draw([
    () => createFrame(name),
    () => createFrame(name, { ns: hostObjects(host), period: '<domain:period unit="y">2</domain:period>' }),
    () => renewFrame(name, exDate, draw([1, 2, 9])),
    () => deleteFrame(name),
    () => infoFrame(name),
    () => transferFrame("request", name, "auth-1"),
    () => transferFrame(draw<TransferOp>(["approve", "reject", "cancel", "query"]), name),
    () => extended(updateFrame(name, "<domain:chg/>"), restore(draw(["request", "report"]))),
    () => change(draw(["add", "rem"]), hostObjects(host)),
    () => change(draw(["add", "rem"]), `<domain:status s="client${draw(["Delete", "Transfer"])}Prohibited"/>`),
    () => hostFrame("create", host, address),
    () => hostFrame("delete", host),
    () => hostFrame("update", host, `<host:chg><host:name>${draw(hosts)}</host:name></host:chg>`),
    () => hostFrame("info", host),
  ])();
}

/** What is true of a name at any time, whatever has been done with it. */
function assertSound({ store, now }: SandboxRegistry, domain: Domain): void {
  const { name, statuses, deletion, transfer, exDate, delegation, clID } = domain;
  const nowText = now().toISOString();
  const has = (status: string) => statuses.includes(status);
  assert.equal(new Set(statuses).size, statuses.length, `${name}: a status twice`);
  assert.equal(has("pendingDelete"), deletion !== undefined, `${name}: pendingDelete`);
  assert.equal(has("pendingTransfer"), transfer?.status === "pending", `${name}: pendingTransfer`);
  assert.ok(!(has("pendingDelete") && statuses.some((status) => status.endsWith("DeleteProhibited"))), name);
  if (deletion) assert.ok(deletion.until > nowText, `${name}: its stage is over`);
  else if (!has("pendingCreate")) assert.ok(exDate > nowText, `${name}: it has expired`);
  if (transfer?.status === "pending") {
    assert.equal(transfer.acID, clID, name);
    assert.ok(transfer.acDate > nowText, `${name}: its transfer is over`);
  }
  for (const server of delegation?.servers ?? []) assert.ok(store.hosts.find(server.name), `${name}: ${server.name}`);
}

async function live(context: TestContext, seed: number, options: Partial<SandboxRegistryOptions>): Promise<number> {
  const now = () => new Date("2028-03-01T10:00:00.000Z");
  const registry = await startFor(context, { now, pendingDelayMs: hourMs, ...options });
  const clients = await Promise.all([
    RawClient.login(registry, "gate-one", "secret-1", everything),
    RawClient.login(registry, "gate-two", "secret-2", everything),
  ]);
  const draw = drawFrom(seed);
  await clients[0].ask(contactCreateFrame("reg-1"));
  let doneCount = 0;
  for (let step = 0; step < stepsPerLife; step++) {
    if (step % 4 === 0) await registry.advance(draw([0, 1, 30, 24 * 3, 24 * 20, 24 * 100]) * hourMs);
    const frame = anyFrame(registry, draw);
    const { code } = await draw(clients).ask(frame);
    if (code < 2000) doneCount += 1;
    for (const domain of registry.store.domains.values()) assertSound(registry, domain);
    for (const host of registry.store.hosts.values()) {
      const above = names.find((name) => host.name.endsWith(`.${name}`));
      const sponsor = above === undefined ? host.clID : registry.store.domains.find(above)?.clID;
      assert.equal(host.clID, sponsor, `${host.name} belongs to the registrar of the name that it is in`);
    }
  }
  for (const client of clients) client.close();
  return doneCount;
}

const lives: [seed: number, options: Partial<SandboxRegistryOptions>][] = [
  [1, {}],
  [2, { atExpiry: "expire" }],
  [3, { restoreReport: false, graceDays: { add: 0, pendingDelete: 0 } }],
  [4, { atExpiry: "expire", graceDays: { redemption: 0, add: 1, autoRenew: 0 }, transferDays: 30 }],
];

for (const [seed, options] of lives) {
  test(`keeps names, hosts and transfers sound whatever two registrars do (seed ${seed})`, async (context) => {
    const doneCount = await live(context, seed, options);
    assert.ok(doneCount > stepsPerLife / 5, `only ${doneCount} commands were done: the test tries too little`);
  });
}
