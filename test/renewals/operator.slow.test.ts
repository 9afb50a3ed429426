import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { executed, giveNames, renewalOf, startStage, untilRenewalIs } from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

interface ListedRenewal {
  domain_name: string;
  reseller: string;
  status: string;
}

const namesOf = (rows: ListedRenewal[]) => rows.map(({ domain_name }) => domain_name);

test("an operator sees every reseller's renewals, and finds those that matter", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const other = await gateway.addReseller();
  const inDays = (days: number) => ({ expirationDate: new Date(gateway.context.clock.now().getTime() + days * dayMs) });
  const mine = { "soon.example": inDays(20), "gone.example": inDays(35), "later.example": inDays(60) };
  await giveNames(gateway, reseller, new Map(Object.entries(mine)));
  await giveNames(gateway, other, new Map([["theirs.example", inDays(50)]]));
  await untilRenewalIs(gateway, "soon.example", "Renewed");
  for (const name of ["gone.example", "later.example", "theirs.example"])
    await untilRenewalIs(gateway, name, "Scheduled");
  const list = (...args: string[]) => operated<ListedRenewal[]>(gateway, "renewals", "list", ...args);
  assert.deepEqual(namesOf(await list()), ["gone.example", "theirs.example", "later.example"]);
  assert.deepEqual(namesOf(await list("--status", "Renewed")), ["soon.example"]);
  assert.deepEqual(namesOf(await list("--reseller", other.name)), ["theirs.example"]);
  assert.deepEqual(namesOf(await list("--days", "40")), ["gone.example"]);
  assert.deepEqual(namesOf(await list("--limit", "1")), ["gone.example"]);
  await assertRefused(gateway, ["renewals", "list", "--status", "Lost"], 2, /Allowed choices are/);
  await assertRefused(gateway, ["renewals", "list", "--reseller", "ghost"], 4, /no account named/);
});

test("a renewal can be run before it is due, and shows what it did", async (t) => {
  const { gateway, reseller } = await startStage(t);
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 80 * dayMs);
  const name = "early.example";
  await giveNames(gateway, reseller, new Map([[name, { expirationDate }]]));
  await untilRenewalIs(gateway, name, "Scheduled");
  await operated(gateway, "renewals", "run", name);
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(executed(gateway, name, "domain:renew"), 1);
  interface Shown {
    attempts: { cl_trid: string; result_code: number }[];
    history: { event: string }[];
  }
  const shown = await operated<Shown>(gateway, "renewals", "show", "Early.EXAMPLE");
  const { renewal_code: code } = (await renewalOf(gateway, name))!;
  assert.deepEqual(
    shown.attempts.map(({ cl_trid, result_code }) => [cl_trid, result_code]),
    [[`${code}-1`, 1000]],
  );
  assert.deepEqual(
    shown.history.map(({ event }) => event),
    ["due", "requested", "started", "answered", "renewed", "done"],
  );
  const { code: exitCode, stdout } = await operate(gateway, "renewals", "show", name);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^next +nothing: it has ended$/m);
});

test("an error says why a renewal cannot be run or switched", async (t) => {
  const { gateway, reseller } = await startStage(t);
  await giveNames(gateway, reseller, new Map([["far.example", { expirationDate: new Date("2099-01-01T00:00:00Z") }]]));
  await assertRefused(gateway, ["renewals", "run", "far.example"], 3, /too far in the future/);
  await assertRefused(gateway, ["renewals", "run", "nobodys.example"], 4, /no portfolio/);
  await assertRefused(gateway, ["renewals", "show", "nobodys.example"], 4, /no portfolio/);
  await assertRefused(gateway, ["renewals", "show", "-"], 2, /name/i);
  await assertRefused(gateway, ["renewals", "switch", "far.example"], 2, /--on or --off/);
  await assertRefused(gateway, ["renewals", "switch", "nobodys.example", "--on"], 4, /no portfolio/);
  const { next } = await operated<{ next: string }>(gateway, "renewals", "show", "far.example");
  assert.match(next, /too far in the future/);
});

test("after a lost answer an operator cannot cut the settle time short", async (t) => {
  const stage = await startStage(t, { registry: { settleMs: 3_600_000 } });
  const { gateway, reseller } = stage;
  const name = "renew-drop-after-early.example";
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 20 * dayMs);
  await giveNames(gateway, reseller, new Map([[name, { expirationDate }]]));
  await untilRenewalIs(gateway, name, "Processing (verify)");
  await assertRefused(gateway, ["renewals", "run", name], 3, /nothing is believed before/);
});
