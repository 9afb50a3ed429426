import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createLoginWatch } from "#jobs/registry-logins.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import type { LoginSecurityEvent } from "#registry/epp/commands/session/login-security.ts";
import { createCertificate } from "#registry/epp/test-stand-in-server.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startTestGateway } from "../../test/harness/gateway.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { runSql } from "../../test/harness/sql.ts";

const dayMs = 86_400_000;

async function startWatch(t: TestContext, cert?: string) {
  const { url, database } = await testDatabase(t);
  const clock = createManualClock(Date.UTC(2026, 0, 1) / 1000);
  const watchOf = (id: string) => createLoginWatch({ database, clock, log: createLog("test", "silent") }, { id, cert });
  const open = () => openAlarms(url);
  return { clock, open, watchOf, watch: watchOf("nic") };
}

const openAlarms = (url: string) =>
  runSql<{ subject: string; note: string }>(
    url,
    "SELECT subject, note FROM alarms WHERE kind = 'registry-login' AND resolved_at IS NULL ORDER BY id",
  );

function event(type: string, own: Partial<LoginSecurityEvent> = {}): LoginSecurityEvent {
  const nothing = { name: undefined, exDate: undefined, value: undefined, duration: undefined };
  return { type, level: "warning", text: `about ${type}`, ...nothing, ...own };
}

test("each type of event that a registry reports about our login is one alarm, until a login without it", async (t) => {
  const { watch, watchOf, open } = await startWatch(t);
  const other = watchOf("nic2");
  other.onLogin({ succeeded: true, events: [event("custom")] });
  await other.check();
  const password = event("password", { exDate: new Date("2026-02-01") });
  const logins = event("stat", { name: "failedLogins", value: "100", duration: "P1D" });
  watch.onLogin({ succeeded: true, events: [password, logins, event("stat", { name: "weakOnes" }), event("its own")] });
  await watch.check();
  const [others, ...alarms] = await open();
  assert.deepEqual(
    alarms.map(({ subject }) => subject),
    ["nic password", "nic stat", "nic custom"],
  );
  assert.equal(
    alarms[0]?.note,
    "the registry reports about our login: warning, password until 2026-02-01T00:00:00.000Z: about password: change it: deedhouse registry password nic",
  );
  assert.match(alarms[1]?.note ?? "", /stat failedLogins 100 in P1D: about stat; .*stat weakOnes/);
  watch.onLogin({ succeeded: true, events: [password] });
  await watch.check();
  assert.deepEqual(
    (await open()).map(({ subject }) => subject),
    [others?.subject, "nic password"],
  );
});

test("a refused login adds its events and resolves no alarm", async (t) => {
  const { watch, watchOf, open } = await startWatch(t);
  watch.onLogin({ succeeded: true, events: [event("cipher")] });
  await watch.check();
  const successor = watchOf("nic");
  successor.onLogin({
    succeeded: false,
    events: [event("password", { level: "error", exDate: new Date("2025-12-31") })],
  });
  await successor.check();
  const alarms = await open();
  assert.deepEqual(
    alarms.map(({ subject }) => subject),
    ["nic cipher", "nic password"],
  );
  assert.match(alarms[1]?.note ?? "", /: error, password since 2025-12-31T/);
  successor.onLogin({ succeeded: true, events: [] });
  await successor.check();
  assert.deepEqual(await open(), []);
});

test("our client certificate raises an alarm thirty days before it expires, and another in its last seven days", async (t) => {
  const [from, until] = [new Date("2025-12-31"), new Date("2026-02-20")];
  const { cert } = await createCertificate("ours", undefined, { from, until });
  const { watch, clock, open } = await startWatch(t, cert);
  watch.onLogin({ succeeded: true, events: [] });
  const subjects: string[] = [];
  for (const days of [0, 19, 20, 42, 43, 51]) {
    clock.set((Date.UTC(2026, 0, 1) + days * dayMs + 60_000) / 1000);
    await watch.check();
    const alarms = await open();
    subjects.push(`day ${days}: ${alarms.map(({ subject, note }) => `${subject}, ${note.split(" 2026")[0]}`)}`);
  }
  assert.deepEqual(subjects, [
    "day 0: ",
    "day 19: ",
    "day 20: nic certificate, our client certificate expires on",
    "day 42: nic certificate, our client certificate expires on",
    "day 43: nic certificate in its last days, our client certificate expires on",
    "day 51: nic certificate in its last days, our client certificate expired on",
  ]);
  assert.match((await open())[0]?.note ?? "", /: replace it: docs\/registries\.md, A new certificate$/);
});

test("the owner of a registry's sessions raises alarms for its logins' events and for the certificate in its profile", async (t) => {
  const until = new Date(systemClock.now().getTime() + 20 * dayMs);
  const { cert } = await createCertificate("ours", undefined, { until });
  const sandbox = { passwordExpiresDays: 5 };
  const { databaseUrl } = await startTestGateway(t, { sandbox, registry: { cert } });
  const wanted = ["sandbox certificate", "sandbox password"];
  for (let alarms: string[] = []; alarms.join() !== wanted.join(); await sleep(20)) {
    alarms = (await openAlarms(databaseUrl)).map(({ subject }) => subject).toSorted();
  }
});
