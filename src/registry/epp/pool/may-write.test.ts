import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppNotSent, EppUnanswered } from "#registry/epp/errors.ts";
import { startFixture } from "#registry/epp/pool/test-pool.ts";
import { responseXml } from "#registry/epp/test-stand-in-server.ts";

const waitMs = 5_000;

/** Waits until the condition holds. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2);
}

test("once mayWrite returns false no frame is sent, not even a logout, and connections are reset", async (context) => {
  let mayWrite = true;
  const { standIn, pool } = await startFixture(context, { sessionsMax: 3, sessionsMin: 3, mayWrite: () => mayWrite });
  await until(() => standIn.open() === 3);
  standIn.script = ({ name }) => (name === "domain:info" ? "silence" : undefined);
  using lent = await pool.acquire("transform", { waitMs });
  using asked = await pool.acquire("transform", { waitMs });
  const unanswered = assert.rejects(asked.request(domainInfo("asked.example"), { clTRID: "asked-1" }), EppUnanswered);
  await until(() => standIn.requests.some(({ name }) => name === "domain:info"));
  const sent = standIn.requests.length;
  mayWrite = false;
  await assert.rejects(lent.request(domainInfo("late.example"), { clTRID: "late-1" }), EppNotSent);
  await pool.drain(0);
  await unanswered;
  await until(() => standIn.open() === 0);
  assert.equal(standIn.resets(), 3);
  assert.equal(standIn.requests.length, sent);
});

test("a registry counts as silent from an unanswered request until any answer, even a refusal", async (context) => {
  const { standIn, pool } = await startFixture(context, {
    sessionsMin: 1,
    timeouts: { loginPauseFirstMs: 2, loginPauseMsMax: 4 },
    circuit: { faultsMax: 1_000 },
  });
  await until(() => standIn.open() === 1);
  assert.equal(pool.silentMs(), 0);
  standIn.script = () => "close";
  standIn.drop();
  await until(() => pool.silentMs() > 0);
  standIn.script = ({ name, clTRID }) => (name === "login" ? { xml: responseXml(2200, clTRID) } : undefined);
  await until(() => pool.silentMs() === 0);
});
