import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../sdk/clock.ts";
import { apiKey, apiSecret, type Canned, refuse, startStandInService } from "../testing/stand-in-service.ts";
import { checkService } from "./check-service.ts";

/** The findings about a service that gives this answer, as "result check", and their texts. */
async function check(t: TestContext, { answer, secret = apiSecret }: { answer: Canned; secret?: string }) {
  await using service = await startStandInService();
  service.answers["GET /v1/servicepacks"] = answer;
  const findings = await checkService({ ...credentials(t, secret), url: service.url }, systemClock);
  assert.equal(service.seen.length, 1, "one request is enough");
  return findings;
}

function credentials(t: TestContext, secret = apiSecret) {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-doctor-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, secret, { mode: 0o600 });
  return { key: apiKey, secretFile };
}

const said = (findings: Awaited<ReturnType<typeof check>>) =>
  findings.map(({ check: of, result }) => `${result} ${of}`);
const aheadBy = (seconds: number): Canned => ({
  status: 200,
  body: [],
  headers: { date: new Date(systemClock.now().getTime() + seconds * 1000).toUTCString() },
});

test("nothing is wrong with a service that answers, in time, a signature that it accepts", async (t) => {
  const findings = await check(t, { answer: { status: 200, body: [] } });
  assert.deepEqual(said(findings), ["ok service", "ok clock", "ok signature"]);
});

test("a clock that is half a minute off is reported with its direction", async (t) => {
  const [, behind] = await check(t, { answer: aheadBy(120) });
  assert.match(`${behind?.result}: ${behind?.text}`, /^warning: this computer's clock is 1(19|20|21) s behind/);
  assert.match(behind?.advice ?? "", /NTP/);
  const [, ahead] = await check(t, { answer: aheadBy(-120) });
  assert.match(ahead?.text ?? "", /1(19|20|21|22) s ahead of/);
  const [, little] = await check(t, { answer: aheadBy(10) });
  assert.equal(little?.result, "ok");
});

test("a wrong secret, a closed address and an old timestamp each come with what to do", async (t) => {
  const [, , wrong] = await check(t, { answer: aheadBy(0), secret: "wrong" });
  assert.match(`${wrong?.result} ${wrong?.advice}`, /^fault .*belong together/);
  const [, , closed] = await check(t, { answer: refuse(401, "authorization_ip_not_allowed") });
  assert.match(`${closed?.result} ${closed?.advice}`, /^fault .*allowed address/);
  const [, , old] = await check(t, { answer: refuse(401, "authorization_timestamp_invalid") });
  assert.match(`${old?.result} ${old?.advice}`, /^fault .*NTP/);
});

test("a key without the scope has a right signature", async (t) => {
  assert.ok(said(await check(t, { answer: refuse(403, "authorization_scope_missing") })).includes("ok signature"));
});

test("a service that does not answer is the one fault", async (t) => {
  const service = await startStandInService();
  await service[Symbol.asyncDispose]();
  const findings = await checkService({ ...credentials(t), url: service.url }, systemClock);
  assert.deepEqual(said(findings), ["fault service"]);
  assert.match(findings[0]?.text ?? "", /ECONNREFUSED/);
});
