import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { createClient } from "../../client/sdk/client.ts";
import { ConnectionError } from "../../client/sdk/errors.ts";
import { instantClock } from "../../client/testing/instant-clock.ts";
import { runCli } from "../../client/testing/run-cli.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { createManualClock } from "../harness/manual-clock.ts";

// The command line's clock in tests.
const clock = createManualClock(1_800_000_000);
const gateway = await startTestGateway({ after }, { clock, worker: false, proxy: true });
const reseller = await gateway.addReseller();
const { id: apiKey, secret } = reseller.key;
const url = `${gateway.url}/v1`;
const client = createClient({ url, apiKey, apiSecret: secret.reveal(), clock: instantClock(), retriesMax: 0 });
const env = { DEEDHOUSE_API_KEY: apiKey, DEEDHOUSE_API_SECRET: secret.reveal() };
const namesCount = 5_000;
const names = Array.from({ length: namesCount }, (_, at) => ({ name: `name-${at + 1}.example`, willRenew: at > 0 }));
await insertDomains(gateway.databaseUrl, reseller, names);

const linesOf = (text: string) => text.split("\r\n").slice(1, -1);
async function textOf(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const received: Uint8Array[] = [];
  for await (const part of parts) received.push(part);
  return Buffer.concat(received).toString();
}

test("the library gives whole lists in parts, with their filters", async () => {
  assert.equal(linesOf(await textOf(client.domains.list().csv())).length, namesCount);
  assert.match(await textOf(client.domains.list({ willRenew: false }).csv()), /\r\nname-1\.example,[^\n]*\r\n$/);
  assert.match(await textOf(client.orders.list({ status: "Errors" }).csv()), /^order_code,.*\r\n$/);
  assert.match(await textOf(client.renewals.list({ status: "Lapsing" }).csv()), /^domain_name,expiration_date,.*\r\n$/);
  assert.match(await textOf(client.domains.departures().csv()), /^domain_name,left_at,.*\r\n$/);
});

test("an iteration that stops ends the export, and one whose list breaks off rejects", async () => {
  for (let count = 0; count < 5; count++) {
    for await (const _ of client.domains.list().csv()) break;
    // The service notices soon that nobody reads any more.
    const headers = { accept: "text/csv" };
    while ((await gateway.send(reseller, "GET", "/orders", { headers })).status === 429) await sleep(10);
  }
  const broken = (async () => {
    for await (const _ of client.domains.list().csv()) gateway.proxy.cut();
  })();
  await assert.rejects(broken, (error) => error instanceof ConnectionError && /not whole/.test(error.message));
  await assert.rejects(textOf(client.domains.list().csv()), { status: 503 });
  gateway.proxy.restore();
});

test("domains list, orders, renewals and departures write CSV to standard output", async () => {
  const list = await runCli(url, ["domains", "list", "--csv"], { env });
  assert.equal(list.exitCode, 0, list.stderr);
  assert.equal(linesOf(list.stdout).length, namesCount);
  for (const command of [["orders", "--kind", "create"], ["renewals"], ["departures"]]) {
    const { exitCode, stdout, stderr } = await runCli(url, ["domains", ...command, "--csv"], { env });
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^[a-z_,]+\r\n$/);
  }
  const paged = await runCli(url, ["domains", "list", "--csv", "--take", "5"], { env });
  assert.equal(paged.exitCode, 2);
  assert.match(paged.stderr, /leave out/);
});
