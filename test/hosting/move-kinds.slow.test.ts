/** An account moves from an embedded node to one of ProFTPD and nginx with its agent, and back. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startAgentEndpoint } from "#hosting/channel/agent-endpoint.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { setNode } from "#hosting/nodes/manage.ts";
import { registerNode } from "#hosting/nodes/nodes.ts";
import { startAgent } from "#nodes/agent/agent.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { cannotStart, startTestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import type { Scope } from "../harness/database.ts";
import { nodeRoom } from "../harness/profiles.ts";
import { readPage, upload } from "../harness/site.ts";
import { assertRoomIsKept, filesOf, ftpOf, pageOf, startMoveStage } from "./move-stage.ts";
import { password } from "./stage.ts";

type Stage = Awaited<ReturnType<typeof startMoveStage>>;

/** A node of ProFTPD and nginx with its agent, as the gateway's node `web-1`. */
async function addProftpdNode(scope: Scope, { gateway: { context } }: Stage) {
  const machine = await startTestProftpdNode();
  scope.after(() => machine.close());
  const settings = {};
  const web = { ...machine.web, isHttps: false };
  await registerNode(context, { id: "web-1", kind: "proftpd-nginx", ftp: machine.ftp, web, settings }, nodeRoom, false);
  const endpoint = await startAgentEndpoint(context, { host: "127.0.0.1", port: 0 });
  scope.after(() => endpoint.close());
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-agent-"));
  scope.after(() => rm(folder, { recursive: true }));
  await joinGateway((await createJoinToken(context, "web-1")).reveal(), join(folder, "agent.json"), context.clock);
  const config = await loadAgentConfig(join(folder, "agent.json"));
  const { clock, random, log } = context;
  const agent = await startAgent({
    config,
    clock,
    random,
    log,
    node: machine.node,
    progressFile: join(folder, "progress.json"),
    transport: createTransport(config.gateway),
  });
  scope.after(() => agent.close());
  return machine;
}

test("an account moves between kinds of nodes, with all its files", { skip: cannotStart }, async (t) => {
  const closers: (() => unknown)[] = [];
  // Closed in reverse order.
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const scope: Scope = { after: (hook) => void closers.push(hook) };
  const stage = await startMoveStage(scope);
  await setNode(stage.gateway.context, "second", { isDraining: true });
  const machine = await addProftpdNode(scope, stage);
  const identifier = "kinds.move.example";
  const id = await stage.createOnFirst(identifier);
  const { uid } = await stage.inside(id);
  const www = join(stage.node.dataDir, "homes", String(uid), "www");
  await mkdir(join(www, "with space", "empty folder"), { recursive: true });
  for (const [name, content] of [
    ["with space/ü 漢字.txt", "utf-8"],
    [".well-known.txt", "dot"],
    ["empty.txt", ""],
    ["big.bin", "0123456789".repeat(100_000)],
  ] as const) {
    await writeFile(join(www, name), content);
  }
  const before = await filesOf(stage.node, uid);

  await stage.comes(await stage.move(identifier, "web-1", 0), "Moved");
  assert.equal((await stage.read(identifier)).ftp.port, machine.ftp.port);
  const host = `${identifier}.${machine.settings.siteDomain}`;
  assert.equal((await readPage(machine.web, host, "/index.html")).body, identifier);
  await upload(machine.ftp, identifier, password, "/www/there.txt", "there");

  await stage.comes(await stage.move(identifier, "embedded", 0), "Moved");
  assert.equal((await pageOf(stage.node, identifier, "/there.txt")).body, "there");
  await upload(ftpOf(stage.node), identifier, password, "/www/back.txt", "back");
  const after = await filesOf(stage.node, (await stage.inside(id)).uid);
  assert.deepEqual(
    after.filter((file) => !/^\/(there|back)\.txt/.test(file)),
    before,
  );
  assert.equal((await readPage(machine.web, host, "/index.html")).status, 404);
  await assertRoomIsKept(stage.gateway.databaseUrl);
});
