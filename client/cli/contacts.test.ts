import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { accepted, startStandInService } from "../testing/stand-in-service.ts";

const orderCode = "CHG-8F3K2M1Q-7XW";
const ada = {
  first_name: "Ada",
  last_name: "Byron",
  email: "ada@mail.example",
  phone: "+44.2079460001",
  address: "Mews 7",
  postal_code: "EC1A 1BB",
  city: "London",
  country_code: "GB",
};

async function writeContact(t: TestContext, text = JSON.stringify(ada)): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-contact-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "contact.json");
  await writeFile(file, text);
  return file;
}

test("domains contacts shows the contacts, and orders only those that are given", async (t) => {
  await using service = await startStandInService();
  const shown = { registrant: ada, admin: null, tech: null, billing: null };
  service.answers["GET /v1/domains/example.com/contacts"] = { status: 200, body: shown };
  service.answers["PUT /v1/domains/example.com/contacts"] = accepted(`/v1/orders/${orderCode}`, 1);
  const finished = { order_code: orderCode, kind: "contacts", domain_name: "example.com", status: "Finished" };
  service.answers[`GET /v1/orders/${orderCode}`] = { status: 200, body: finished };
  const read = await runCli(service.url, ["domains", "contacts", "example.com", "--json"]);
  assert.deepEqual(JSON.parse(read.stdout), shown);
  const file = await writeContact(t);
  const change = ["domains", "contacts", "example.com", "--registrant", file, "--tech", file, "--wait", "--json"];
  const { exitCode, stdout } = await runCli(service.url, change);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), finished);
  assert.deepEqual(JSON.parse(service.seen[1]!.body), { registrant: ada, tech: ada });
  assert.match(String(service.seen[1]!.headers["idempotency-key"]), /./);
});

test("domains register sends the contacts in the given files", async (t) => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/registrations"] = accepted("/v1/domains/registrations/REG-8F3K2M1Q-7XW", 1);
  const file = await writeContact(t);
  const args = ["domains", "register", "example.com", "--registrant", file, "--admin", file];
  assert.equal((await runCli(service.url, args)).exitCode, 0);
  const body = { domain_name: "example.com", registrant: ada, contacts: { admin: ada } };
  assert.deepEqual(JSON.parse(service.seen[0]!.body), body);
});

test("a file that is missing or no JSON is named, and nothing is ordered", async (t) => {
  await using service = await startStandInService();
  for (const file of ["/nowhere/contact.json", await writeContact(t, "Ada")]) {
    const { exitCode, stderr } = await runCli(service.url, ["domains", "contacts", "example.com", "--tech", file]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /contact\.json cannot be read: /);
  }
  assert.equal(service.seen.length, 0);
});
