import assert from "node:assert/strict";
import { test } from "node:test";
import { raiseAlarm } from "#alarms.ts";
import { masterKey } from "../harness/gateway.ts";
import { runTool } from "../harness/running-system.ts";
import { startWithWorkers } from "../orders/worker-process.ts";
import { until } from "../webhooks/stage.ts";
import { mailSettings, startMailServer } from "./stage.ts";

test("workers that are killed while they send lose no mail, and send it again only with its id", async (t) => {
  const workers = await startWithWorkers(t);
  const { context } = workers.gateway;
  const post = await startMailServer(t);
  const environment = mailSettings(post);
  const rounds = 3;
  const arrived = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    const worker = await workers.start({ environment });
    const held = Promise.withResolvers<void>();
    // The mail has arrived, the answer has not: the worker is killed in between.
    post.judge = async ({ headers, body }) => {
      const id = headers["message-id"]!;
      const subject = /About: (.*)\r/.exec(body)![1]!;
      assert.equal(arrived.get(subject) ?? id, id, subject);
      arrived.set(subject, id);
      if (subject !== `site-${round}-2.example`) return;
      held.resolve();
      await new Promise(() => {});
    };
    for (let number = 0; number < 4; number++) {
      const subject = `site-${round}-${number}.example`;
      await raiseAlarm(context, { kind: "hosting", subject, note: "it is pending" });
    }
    await held.promise;
    await worker.kill();
  }
  post.judge = ({ headers, body }) => void arrived.set(/About: (.*)\r/.exec(body)![1]!, headers["message-id"]!);
  await workers.start({ environment });
  await until("all have arrived", () => arrived.size === rounds * 4);
  await until("the last ones are taken", () => post.mails.length >= rounds * 4);
  assert.equal(new Set(arrived.values()).size, rounds * 4);
});

test("deedhouse alarms test sends one by each channel, and says what to set when there is none", async (t) => {
  const workers = await startWithWorkers(t);
  const env = {
    ...process.env,
    DATABASE_URL: workers.gateway.databaseUrl,
    DEEDHOUSE_MASTER_KEY: `1:${masterKey.toString("hex")}`,
  };
  const none = await runTool(["alarms", "test"], { env });
  assert.equal(none.code, 3, none.stderr);
  assert.match(none.stderr, /DEEDHOUSE_ALARMS_MAIL_TO/);
  const post = await startMailServer(t);
  await workers.start({ environment: mailSettings(post) });
  const sent = await runTool(["alarms", "test", "--json"], { env });
  assert.deepEqual(
    [sent.code, JSON.parse(sent.stdout)],
    [0, [{ channel: "mail", status: "sent", reason: null }]],
    sent.stderr,
  );
  assert.equal(post.mails.length, 1);
  post.judge = () => {
    throw Object.assign(new Error("no space left"), { responseCode: 452 });
  };
  const failed = await runTool(["alarms", "test"], { env });
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /mail\s+failed\s+.*no space left/);
});
