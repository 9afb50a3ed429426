/** Whole lists as CSV by a client library. */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startFaultRelay } from "../harness/fault-relay.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { type Language, startForeignClient } from "./foreign-client.ts";

/** About 10 MB: more than a library takes as an answer of JSON. */
const manyNames = 60_000;
const peakBytesMax = 4_000_000;

export async function testExports(language: Language): Promise<void> {
  const { name, skip } = language;
  if (skip) {
    test(`${name}: whole lists as CSV`, { skip }, () => {});
    return;
  }
  const gateway = await startTestGateway({ after }, { worker: false, proxy: true });
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-csv-"));
  after(() => rm(folder, { recursive: true }));
  const relay = await startFaultRelay(Number(new URL(gateway.url).port));
  after(() => relay.close());
  const file = join(folder, "list.csv");

  const stage = async (names: number, retriesMax = 3) => {
    const reseller = await gateway.addReseller();
    const delegation = [1, 2].map((n) => ({ name: `ns${n}.long-name-of-a-name-server.example` }));
    const domainOf = (n: number) => ({ name: `name-${n}-${reseller.id}.example`, willRenew: n > 1, delegation });
    const domains = Array.from({ length: names }, (_, at) => domainOf(at + 1));
    await insertDomains(gateway.databaseUrl, reseller, domains);
    const settings = { url: `http://127.0.0.1:${relay.port}/v1`, apiKey: reseller.key.id, isInstant: true, retriesMax };
    const apiSecret = reseller.key.secret.reveal();
    const client = await startForeignClient({ after }, language, { ...settings, apiSecret });
    const sent = async (target: string) =>
      (await gateway.send(reseller, "GET", target, { headers: { accept: "text/csv" } })).text;
    return { client, sent };
  };

  test(`${name}: writes each list with its filters as the service sends it`, async () => {
    const { client, sent } = await stage(3);
    const lists: [string, object, string][] = [
      ["domains.list().csv", {}, "/domains"],
      ["domains.list().csv", { willRenew: false, namePrefix: "name-" }, "/domains?will_renew=false&name_prefix=name-"],
      ["orders.list().csv", { status: "Errors" }, "/orders?status=Errors"],
      ["renewals.list().csv", { status: "Lapsing" }, "/renewals?status=Lapsing"],
      ["domains.departures().csv", {}, "/domains/departures"],
    ];
    for (const [method, filters, target] of lists) {
      await client.get(method, { file, ...filters });
      const written = readFileSync(file, "utf8");
      assert.match(written, /^[a-z_]+,[a-z_,]+\r\n/, target);
      assert.equal(written, await sent(target), target);
    }
    assert.equal((await sent(lists[1]![2])).split("\r\n").length, 3, "the filter selects one name");
  });

  test(`${name}: a list of any length takes little memory`, async () => {
    const { client } = await stage(manyNames);
    const { peakBytes } = await client.get("domains.list().csv", { file });
    assert.ok(statSync(file).size > 8 * 1024 * 1024);
    assert.ok(Number(peakBytes) < peakBytesMax, `${peakBytes} bytes`);
  });

  test(`${name}: an answer that is lost before it begins is asked for again`, async () => {
    const { client, sent } = await stage(2);
    relay.faults.push("answer lost");
    const { retries, error } = await client.say("domains.list().csv", { file });
    assert.equal(error, undefined);
    // The nonce of a read stays used, so the second retry is signed again.
    assert.deepEqual(retries, [1, 2]);
    assert.equal(readFileSync(file, "utf8"), await sent("/domains"));
  });

  test(`${name}: a list that breaks off is an error, and is not begun again`, async () => {
    const { client } = await stage(manyNames);
    relay.faults.push({ bytes: -10 });
    const broken = await client.say("domains.list().csv", { file });
    assert.equal(broken.error?.type, "NoAnswer");
    assert.match(broken.error.message, /the list broke off, so it is not whole/);
    assert.deepEqual(broken.retries, []);
    assert.ok(statSync(file).size > 0);
  });

  test(`${name}: a refusal is the service's error, and nothing is written`, async () => {
    const { client } = await stage(1);
    const refused = await client.fail("orders.list().csv", { file, status: "Unknown" });
    assert.deepEqual([refused.type, refused.errorCode], ["Api", "bad_request"]);
    assert.equal(statSync(file).size, 0);
  });

  // PHP's library writes a list to its end.
  if (name === "PHP") return;
  test(`${name}: a program can stop in the middle of a list`, async () => {
    const { client } = await stage(manyNames);
    await client.get("domains.list().csv", { file }, 1);
    assert.ok(statSync(file).size < 1_000_000);
    assert.equal((await client.data<unknown[]>("domains.list().page", { take: 2 })).length, 2);
    await client.get("domains.list().csv", { file });
    assert.ok(statSync(file).size > 8 * 1024 * 1024);
  });
}
