import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli } from "../../testing/run-cli.ts";
import { accepted, refuse, type StandInService, startStandInService } from "../../testing/stand-in-service.ts";

const target = "POST /v1/domains/registrations";

function startFile(t: TestContext, text: string) {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-names-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "names.txt");
  writeFileSync(file, text);
  const run = (service: StandInService, ...args: string[]) =>
    runCli(service.url, ["domains", "register", "--file", file, ...args]);
  return { file, journal: `${file}.orders`, run };
}

const order = (code: string, headers = {}) => {
  const answer = accepted(`/v1/domains/registrations/${code}`, 1);
  return { ...answer, headers: { ...answer.headers, ...headers } };
};
const keysSent = ({ seen }: StandInService) => seen.map(({ headers }) => headers["idempotency-key"]);

test("orders are placed at the pace of the rate limit, and leave some of it to other programs", async (t) => {
  await using service = await startStandInService();
  service.answers[target] = order("REG-1", { "x-ratelimit-remaining": "3", "x-ratelimit-reset": "42" });
  const { run } = startFile(t, Array.from({ length: 6 }, (_, index) => `name-${index}.example`).join("\n"));
  const { exitCode, stderr } = await run(service);
  assert.equal(exitCode, 0, stderr);
  assert.match(stderr, /slept 42 s/);
  assert.equal(service.seen.length, 6);
});

test("at the daily limit nothing more is ordered, and the same command continues with the same keys", async (t) => {
  await using service = await startStandInService();
  service.answers[target] = refuse(429, "order_limit_reached", { "retry-after": "3600" });
  const { run, journal } = startFile(t, "one.example\n");
  const refused = await run(service);
  assert.equal(refused.exitCode, 9);
  assert.match(refused.stdout, /one.example +NotOrdered/);
  assert.match(refused.stderr, /1 not ordered\nNothing is lost .* same command continues.\n.*order_limit_reached/);
  service.answers[target] = order("REG-1");
  assert.equal((await run(service)).exitCode, 0);
  const [first, second, ...more] = keysSent(service);
  assert.ok(first !== undefined && first === second && more.length === 0);
  assert.match(readFileSync(journal, "utf8"), /"order_code":"REG-1"/);
});

test("a journal that ends in half a line loses only that line", async (t) => {
  await using service = await startStandInService();
  service.answers[target] = order("REG-1");
  const { run, journal } = startFile(t, "one.example\ntwo.example\n");
  assert.equal((await run(service)).exitCode, 0);
  const whole = readFileSync(journal, "utf8");
  writeFileSync(journal, whole.slice(0, -10));
  assert.equal((await run(service)).exitCode, 0);
  const keys = keysSent(service);
  assert.equal(keys.length, 3);
  assert.ok(keys.slice(0, 2).includes(keys[2]), "it is ordered again with its key");
  assert.equal(readFileSync(journal, "utf8").split("\n").length, whole.split("\n").length);
});

test("files that cannot be used are named before anything is ordered", async (t) => {
  await using service = await startStandInService();
  const cases: [text: string, error: RegExp][] = [
    ["# nothing\n\n", /has no names/],
    ["good.example\nbad.example, other.example\n", /line 2 of .* is not a name\nWrite one name/],
  ];
  for (const [text, error] of cases) {
    const { run, journal } = startFile(t, text);
    const { exitCode, stderr } = await run(service);
    assert.equal(exitCode, 2);
    assert.match(stderr, error);
    assert.equal(existsSync(journal), false);
  }
  const { run, journal } = startFile(t, "one.example\n");
  writeFileSync(journal, "domain,order\n");
  assert.match((await run(service)).stderr, /is not a journal of deedhouse domains register --file/);
  assert.equal(readFileSync(journal, "utf8"), "domain,order\n");
  assert.match((await run(service, "one.example")).stderr, /either a domain name or --file/);
  assert.match((await run(service, "--dry-run")).stderr, /are for one name/);
  assert.equal(service.seen.length, 0);
});
