/** A machine that is already a node joins its gateway again. */
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { statement } from "#db/statement.ts";
import { startTestChannel, testCertificate } from "#hosting/channel/test-channel.ts";
import { systemClock } from "#lib/clock.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { createGatewayChannel } from "#nodes/agent/gateway-channel.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { joinStep } from "#nodes/install/joining.ts";
import { machinePaths } from "#nodes/install/machine-settings.ts";
import { carryOut, pendingChanges } from "#nodes/install/plan.ts";
import { makeTestMachine } from "#nodes/install/test-machine.ts";

const keys = statement("test-channel-keys", "SELECT node_id, public_key FROM node_channels ORDER BY node_id", {
  node_id: "text",
  public_key: "text?",
});

test("a node's machine joins again with a token of its own node, and with no other", async (t) => {
  const channel = await startTestChannel(t);
  await channel.join("web-1");
  await channel.join("web-2");
  const machine = await makeTestMachine(t, systemClock);
  await mkdir(join(machine.root, machinePaths.folder), { recursive: true });
  const path = join(machine.root, machinePaths.agent);
  const pending = async (token?: string) =>
    (await pendingChanges([joinStep(machine, token, systemClock)])).map(({ summary }) => summary);
  const installed = (token: string) => carryOut([joinStep(machine, token, systemClock)], () => {});
  const asks = async () => {
    const config = await loadAgentConfig(path);
    const transport = createTransport(config.gateway);
    const question = { after: -1, head: -1, asked: -1, refused: [], agentVersion: "test", highestUid: 0 };
    const asking = createGatewayChannel({ config, transport, clock: systemClock });
    const state = await asking.sync(question, AbortSignal.timeout(60_000)).finally(() => transport.close());
    return state?.node;
  };

  const first = (await channel.token("web-1")).reveal();
  await installed(first);
  assert.equal(await asks(), "web-1");
  assert.deepEqual([await pending(first), await pending()], [[], []], "repeating it changes nothing");

  await channel.closeEndpoint();
  await channel.openEndpoint({ tls: await testCertificate() });
  await assert.rejects(asks(), /the gateway shows another key than the one in the node's token/);
  const second = (await channel.token("web-1")).reveal();
  assert.match((await pending(second)).join(), /^join the gateway at https:\/\/.* again with the one-time token/);
  await installed(second);
  assert.equal(await asks(), "web-1");
  assert.deepEqual(await pending(second), []);

  const others = (await channel.token("web-2")).reveal();
  const before = [await channel.context.database.query(keys, {}), await readFile(path, "utf8")];
  await assert.rejects(
    installed(others),
    /is not for web-1, which this machine is\. Create a new one: deedhouse node token web-1/,
  );
  assert.deepEqual([await channel.context.database.query(keys, {}), await readFile(path, "utf8")], before);
  assert.equal(await asks(), "web-1");
});
