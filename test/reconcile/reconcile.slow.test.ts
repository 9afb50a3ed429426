/** Many names are compared, and names without an owner are found. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isInPortfolio, openAlarms } from "../departures/stage.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { place, registrarId, until } from "../orders/judge.ts";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { placeUnexplained } from "../orders/stage.ts";
import { own, portfolioEntry, type Stage, startStage } from "../renewals/stage.ts";

interface Row {
  domain_name: string;
  difference: string;
  here?: string;
  registry?: string;
  repaired: boolean;
}

const dayMs = 24 * 60 * 60_000;

/** The rows, and whether the command found everything in order. */
async function reconcile(
  { gateway }: Pick<Stage, "gateway">,
  ...args: string[]
): Promise<{ rows: Row[]; code: number | null }> {
  const { code, stdout, stderr } = await operate(gateway, "reconcile", "domains", ...args, "--json");
  assert.equal(stderr, "");
  return { rows: JSON.parse(stdout) as Row[], code };
}

/** The registry holds a name for us that nobody has here. */
function holdForNobody({ gateway }: Stage, name: string, statuses: string[] = []): string {
  const { registry, context } = gateway;
  const exDate = new Date(context.clock.now().getTime() + 400 * dayMs).toISOString();
  const crDate = new Date(context.clock.now().getTime() - 30 * dayMs).toISOString();
  const roid = `D${registry.store.nextNumber()}-TEST`;
  const own = { clID: registrarId, crID: registrarId, authInfo: "not-used-here", contacts: [], statuses };
  registry.store.domains.put({ ...own, name, roid, crDate, exDate });
  return exDate;
}

async function fileOf(t: { after(hook: () => unknown): void }, ...names: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-names-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "names.txt");
  await writeFile(path, `${names.join("\n")}\n`);
  return path;
}

test("the comparison lists a row per difference and changes nothing; with --repair our rows change, and the registry never", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  const [held, changed, gone] = ["held.example", "changed.example", "gone.example"];
  await own(stage, held, changed, gone);
  for (const name of [held, changed, gone]) await operated(gateway, "domains", "sync", name);
  await gateway.registry.change(changed, { nameServers: [{ name: "ns1.elsewhere.test" }] });
  await gateway.registry.change(gone, { removed: true });
  const wanted = [
    { domain_name: changed, difference: "name_servers", here: "", registry: "ns1.elsewhere.test", repaired: false },
    { domain_name: gone, difference: "gone", registry: "the registry does not hold the name", repaired: false },
  ];
  for (const scope of [[], ["--all"]]) assert.deepEqual(await reconcile(stage, ...scope), { rows: wanted, code: 1 });
  const noted = "SELECT domain_name FROM domains WHERE gone_since IS NOT NULL OR delegation <> '[]'";
  assert.deepEqual(await runSql(gateway.databaseUrl, noted), []);
  const repaired = await reconcile(stage, "--repair");
  assert.deepEqual(
    repaired.rows.map(({ domain_name, repaired: isDone }) => [domain_name, isDone]),
    [
      [changed, true],
      [gone, false],
    ],
  );
  assert.equal((await runSql(gateway.databaseUrl, noted)).length, 2);
  assert.equal(await isInPortfolio(stage, gone), true, "one look empties no portfolio");
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT id FROM name_questions"), [], "answers do not pile up");
  assert.deepEqual(gateway.registry.store.journal.entries({ command: "domain:update", direction: "in" }), []);
});

test("names that the registry holds for us without an owner are found in messages and in a file", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  const [told, listed, free, mine] = ["told.example", "listed.example", "free.example", "mine.example"];
  await own(stage, mine);
  await operated(gateway, "domains", "sync", mine);
  holdForNobody(stage, told);
  holdForNobody(stage, listed);
  const xml = `<domain:infData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>${told}</domain:name>
    <domain:roid>D9-TEST</domain:roid><domain:clID>${registrarId}</domain:clID></domain:infData>`;
  await gateway.registry.enqueueMessage({ registrar: registrarId, xml });
  const stored = "SELECT FROM poll_messages WHERE needs_operator";
  await until("the message is stored", async () => (await runSql(gateway.databaseUrl, stored)).length === 1);
  const { rows } = await reconcile(stage);
  assert.deepEqual(
    rows.map(({ domain_name, difference, here }) => [domain_name, difference, here?.replace(/\d+$/, "")]),
    [[told, "no owner", "found in message sandbox/"]],
  );
  const given = await reconcile(stage, "--names", await fileOf(t, listed, free, mine, mine));
  assert.deepEqual(
    given.rows.map(({ domain_name, difference, here }) => [domain_name, difference, here]),
    [[listed, "no owner", "found in the file"]],
  );
});

test("a name of an order that needs a person is listed, and adopted once that order has ended", async (t) => {
  const gateway = await startTestGateway(t, { context: { checkFreshMs: 0 } });
  const reseller = await gateway.addReseller();
  const first = await place(gateway, reseller, "first.example");
  assert.equal((await gateway.settled(reseller, first.location)).status, "Finished");
  const { code, name } = await placeUnexplained(gateway, reseller, "ours.example");
  const { rows } = await reconcile({ gateway });
  assert.deepEqual(
    rows.map(({ domain_name, difference, here }) => [domain_name, difference, here]),
    [[name, "no owner", `found in order ${code}`]],
  );
  const adopt = ["domains", "adopt", name, "--account", reseller.name, "--yes"];
  await assertRefused(gateway, adopt, 3, /an order about ours\.example is open/);
  await operated(gateway, "orders", "settle", code, "--as", "failed", "--force", "--note", "entered by hand");
  await operated(gateway, ...adopt);
  assert.equal((await gateway.send(reseller, "GET", `/domains/${name}`)).status, 200);
  assert.deepEqual(await reconcile({ gateway }, "--all"), { rows: [], code: 0 });
});

test("a name without an owner is adopted with what the registry shows, and is renewed like any other", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "found.example";
  const exDate = holdForNobody(stage, name);
  const args = ["domains", "adopt", name, "--account", reseller.name];
  await assertRefused(gateway, args, 2, /no confirmation is possible/);
  assert.equal(await isInPortfolio(stage, name), false);
  const adopted = await operated(gateway, ...args, "--yes");
  assert.equal(adopted.expiration_date, exDate);
  const entry = await portfolioEntry(gateway, reseller, name);
  assert.deepEqual([entry.expiration_date, entry.will_renew], [exDate, true]);
  const events = await runSql(gateway.databaseUrl, "SELECT event FROM domain_history WHERE domain_name = $1", [name]);
  assert.deepEqual(events, [{ event: "adopted" }]);
  await assertRefused(gateway, [...args, "--yes"], 3, /is in a portfolio/);
});

test("a name is not adopted by guessing: not one of another registrar, not a free or undecided one, not one with an open order", async (t) => {
  const stage = await startStage(t, { registry: { transformTimeoutMs: 400, settleMs: 60_000 } });
  const { gateway, reseller } = stage;
  const adopt = (name: string) => ["domains", "adopt", name, "--account", reseller.name, "--yes"];
  const { store } = gateway.registry;
  holdForNobody(stage, "theirs.example");
  store.domains.put({ ...store.domains.find("theirs.example")!, clID: "rival" });
  holdForNobody(stage, "undecided.example", ["pendingDelete"]);
  await assertRefused(gateway, adopt("theirs.example"), 3, /held by/);
  await assertRefused(gateway, adopt("free.example"), 3, /does not hold the name/);
  await assertRefused(gateway, adopt("undecided.example"), 3, /pendingDelete/);
  await assertRefused(gateway, adopt("found.unserved"), 4, /no registry here serves/);
  await assertRefused(gateway, ["domains", "adopt", "a.example", "--account", "nobody", "--yes"], 4, /no account/);
  const ordered = "ordered.example";
  const hold = gateway.registry.holds.place({
    command: "domain:create",
    name: ordered,
    at: "before-execution",
    times: 1,
  });
  await gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: ordered } });
  await hold.reached(1);
  holdForNobody(stage, ordered);
  await assertRefused(gateway, adopt(ordered), 3, /an order about ordered\.example is open/);
  hold.release({ execute: false });
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM domains"), []);
});

test("transfers that other registrars have asked for are listed with the time of the registry's decision", async (t) => {
  const stage = await startStage(t, { registry: { pollIntervalMs: 20 } });
  const { gateway, reseller } = stage;
  await own(stage, "wanted.example", "kept.example");
  await gateway.registry.transfer({ name: "wanted.example", op: "request" });
  const list = (...args: string[]) => operated<Record<string, unknown>[]>(gateway, "transfers", "list", ...args);
  await until("it is listed", async () => (await list()).length > 0);
  const [transfer, ...others] = await list();
  assert.deepEqual(others, []);
  assert.equal(transfer?.domain_name, "wanted.example");
  assert.equal(transfer?.reseller, reseller.name);
  assert.equal(transfer?.status, "pending");
  await gateway.registry.transfer({ name: "wanted.example", op: "approve" });
  await until("it has left", async () => (await list()).length === 0);
  assert.deepEqual(
    (await list("--ended")).map(({ domain_name, status }) => [domain_name, status]),
    [["wanted.example", "transferred"]],
  );
  assert.deepEqual(await openAlarms(stage), []);
});
