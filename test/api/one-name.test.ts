import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "pg";
import { startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { countHeldUp, untilHeldUp } from "../harness/sql.ts";
import { giveNames } from "../renewals/stage.ts";

const gateway = await startTestGateway({ after });
/** An api process as in service, and the gateway's. */
const apis: readonly { readonly url: string }[] = [await startApiProcess({ after }, gateway), gateway];
const [greedy, other] = [await gateway.addReseller(), await gateway.addReseller()];
const crowded = "crowded.example";
const quiet = "quiet.example";
const { clock } = gateway.context;
const expirationDate = new Date(clock.now().getTime() + 200 * 24 * 60 * 60_000);
await giveNames(gateway, greedy, new Map([[crowded, { expirationDate }]]));
await giveNames(gateway, other, new Map([[quiet, { expirationDate }]]));

const send = (
  by: typeof greedy,
  method: string,
  target: string,
  { body, api = apis[0]! }: { body?: object; api?: (typeof apis)[number] } = {},
) => sendSigned({ url: api.url, key: by.key, clock, method, target, ...(body && { body }) });
const lock = (by: typeof greedy, name: string, api?: (typeof apis)[number]) =>
  send(by, "PUT", `/domains/${name}/transfer-lock`, { body: { transfer_locked: true }, ...(api && { api }) });

/** Holds the name's row as another process would, until the test lets it go. */
async function holdRow(name: string) {
  const client = new Client({ connectionString: gateway.databaseUrl });
  await client.connect();
  await client.query("BEGIN");
  await client.query("SELECT FROM domains WHERE domain_name = $1 FOR UPDATE", [name]);
  return () => client.end();
}

test("while a name's row is held, its orders take one connection, and others are served", async () => {
  const release = await holdRow(crowded);
  try {
    const crowd = Array.from({ length: 100 }, () => lock(greedy, crowded));
    await untilHeldUp(gateway.databaseUrl);
    const replies = await Promise.all([
      send(other, "GET", "/domains?take=1"),
      send(other, "GET", `/domains/${quiet}/history`),
      lock(other, quiet),
    ]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 202],
    );
    assert.ok((await countHeldUp(gateway.databaseUrl)) <= 1);
    for (const reply of await Promise.all(crowd)) {
      assertError(reply, "service_unavailable");
      assert.equal(reply.headers["retry-after"], "1");
    }
  } finally {
    await release();
  }
  assert.equal((await lock(greedy, crowded)).status, 202);
});

test("60 orders at once about one name are all accepted, through one api process or two", async () => {
  for (const used of [apis.slice(0, 1), apis]) {
    const crowd = Array.from({ length: 60 }, (_, index) => lock(greedy, crowded, used[index % used.length]));
    const refused = (await Promise.all(crowd)).filter(({ status }) => status !== 202);
    assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set());
  }
});
