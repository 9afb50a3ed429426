import assert from "node:assert/strict";
import { after, test } from "node:test";
import { getNode } from "#hosting/nodes/manage.ts";
import { registerNode } from "#hosting/nodes/nodes.ts";
import { createPack } from "#hosting/packs/manage.ts";
import { Secret } from "#lib/secret.ts";
import { changeAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";
import { nodePlace, nodeRoom } from "../harness/profiles.ts";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { assertRoomIsKept, pageOf } from "./move-stage.ts";
import { eventually, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after }, { node: false, diskBytesMax: 1_000_000 });
const { gateway } = stage;
const tool = (...args: string[]) => operated<Record<string, unknown>>(gateway, ...args);

/** Adds a running embedded node as an operator does. */
async function add(id: string, node: TestNode, ...more: string[]) {
  await gateway.agentsPort();
  const { ftpPort, webPort } = node.ports;
  const places = ["--ftp", `127.0.0.1:${ftpPort}`, "--web", `127.0.0.1:${webPort}`];
  const added = await tool("node", "add", id, "--kind", "embedded", "--capacity-gb", "1", ...places, ...more);
  assert.match(String(added.next), /^on its server, within 24 hours: deedhouse node, with DEEDHOUSE_NODE_TOKEN_FILE/);
  await node.join(new Secret(String(added.token)));
}

test("an operator adds nodes while everything runs, empties one, and removes it", async (t) => {
  const other = await startTestNode();
  t.after(() => other.close());
  const names = ["a", "b", "c"].map((name) => `${name}.nodes.example`);
  for (const name of names) await stage.create(name);
  await add("old", stage.node);
  for (const name of names) assert.equal((await stage.settled(name)).status, "Ready");
  await add("new", other, "--tag", "ssd", "--tag", "eu");
  const shown = await tool("node", "show", "old");
  assert.deepEqual(
    [shown.state, shown.accounts_count, shown.committed_bytes, shown.capacity_bytes],
    ["open", 3, 3_000_000, 1_000_000_000],
  );
  const { stdout } = await operate(gateway, "node", "list");
  assert.match(stdout, /^new +embedded +open +1\.00 GB +0\.00 GB +0\.00 GB +0 of 10000 +0 +ssd, eu( |$)/m);

  await assertRefused(gateway, ["node", "remove", "old"], 3, /3 accounts are on the hosting node old/);
  const drained = await operate(gateway, "node", "drain", "old", "--move", "--grace-hours", "0", "--wait", "--json");
  assert.equal(drained.code, 0, drained.stderr);
  assert.match(drained.stderr, /3 accounts left, 3 moving/);
  const { moving, staying, accounts } = JSON.parse(drained.stdout);
  assert.deepEqual({ moving, staying, accounts }, { moving: 3, staying: [], accounts: 0 });
  for (const name of names) assert.equal((await pageOf(other, name, "/")).status, 404, "it has no page yet");
  await eventually("they have left", async () => (await getNode(gateway.context, "old")).moves === 0);
  await assertRoomIsKept(gateway.databaseUrl);
  assert.deepEqual(await tool("node", "remove", "old"), { node: "old", status: "removed" });
  await stage.create("after.nodes.example");
  assert.equal((await stage.settled("after.nodes.example")).ftp.port, other.ports.ftpPort);

  await operated(gateway, "node", "reconcile", "new");
  await changeAccount(other.driver, names[0] ?? "", { suspended: true });
  const found = await operate(gateway, "node", "reconcile", "new", "--json");
  assert.equal(found.code, 1, found.stderr);
  assert.equal(JSON.parse(found.stdout).different, 1);
});

test("a pack's tags limit the nodes of its accounts, also for moves", async (t) => {
  const [plain, tagged] = await Promise.all([startTestNode(), startTestNode()]);
  t.after(() => Promise.all([plain.close(), tagged.close()]));
  await add("plain", plain);
  await add("tagged", tagged, "--tag", "tape");
  const limits = { diskBytesMax: 1_000_000, filesMax: 10, ftpSessionsMax: 1 };
  const packId = await createPack(gateway.context, { name: "Tape", ...limits, nodeTags: ["tape"] });
  const body = { servicepack_id: packId, identifier: "tape.example", password: "Correct-horse-9-battery" };
  const reply = await gateway.send(stage.reseller, "POST", "/hostingaccounts", { body });
  assert.equal(reply.status, 202, reply.text);
  assert.equal((await stage.settled("tape.example")).ftp.port, tagged.ports.ftpPort);
  const move = ["hosting", "move", "tape.example"];
  await assertRefused(gateway, move, 3, /no hosting node has the tags tape/);
  await assertRefused(gateway, [...move, "--to", "plain"], 3, /cannot be moved to plain: no hosting node has the tags/);
  await assertRefused(gateway, [...move, "--to", "tagged"], 3, /is on tagged already/);
  await tool("node", "set", "plain", "--tag", "tape");
  const moved = await tool(...move, "--wait");
  assert.deepEqual([moved.state, moved.from_node, moved.to_node], ["Leaving", "tagged", "plain"]);
  assert.equal((await tool("moves", "finish", "tape.example")).identifier, "tape.example");
});

test("a node that returns at another address is reached there as soon as its row is changed", async (t) => {
  const node = await startTestNode();
  t.after(() => node.close());
  const running = await startHostingStage(t, { node: false });
  const { context } = running.gateway;
  await running.gateway.addNode(node, { id: "moving" });
  await running.create("before.elsewhere.example");
  assert.equal((await running.settled("before.elsewhere.example")).status, "Ready");
  await node.restart();
  await registerNode(context, nodePlace(node, "moving"), { ...nodeRoom, accountsMax: 1 }, true);
  await running.create("after.elsewhere.example");
  assert.equal((await running.settled("after.elsewhere.example")).ftp.port, node.ports.ftpPort);
  assert.equal((await running.read("before.elsewhere.example")).ftp.port, node.ports.ftpPort);
  const { accounts_count, accounts_max } = await getNode(context, "moving");
  assert.deepEqual([accounts_count, accounts_max], [2, nodeRoom.accountsMax], "what an operator has set stays");
});

test("explains what is wrong with a node that an operator names or describes", async () => {
  const places = ["--ftp", "ftp.example.net:21", "--web", "web.example.net:80"];
  const cases: [args: string[], code: number, sentence: RegExp][] = [
    [["node", "show", "nowhere"], 4, /there is no hosting node nowhere/],
    [["node", "add", "Web_1", "--capacity-gb", "1", ...places], 2, /lower-case letters, digits and hyphens/],
    [["node", "add", "x", "--capacity-gb", "1", "--ftp", "host", "--web", "web:80"], 2, /a host and a port/],
    [["node", "token", "nowhere"], 4, /there is no node nowhere/],
    [["node", "drain", "nowhere", "--move"], 4, /there is no hosting node nowhere/],
    [["hosting", "move", "nobody.example"], 4, /there is no hosting account nobody.example that is Ready or Suspended/],
    [["moves", "cancel", "nobody.example"], 4, /there is no move of nobody.example/],
  ];
  await Promise.all(cases.map(([args, code, sentence]) => assertRefused(gateway, args, code, sentence)));
});
