import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { dropOldAlarmMessages } from "#alarm-messages/kept.ts";
import { readChannelTests, requestChannelTests } from "#alarm-messages/try-channels.ts";
import { listAlarms, raiseAlarm, resolveAlarm } from "#alarms.ts";
import { systemClock } from "#lib/clock.ts";
import { makeCertificate } from "#nodes/certificate.ts";
import { runSql } from "../harness/sql.ts";
import { assertSigned, type Received, until } from "../webhooks/stage.ts";
import { mailTo, openStage, startMailServer, webhookSecret } from "./stage.ts";

const alarm = { kind: "order", subject: "REG-1-A" } as const;

interface AlarmShown {
  id: number;
  status: string;
  kind: string;
  subject: string;
  note: string;
}
const alarmsIn = ({ event }: Received) => (event.data as { alarms: AlarmShown[] }).alarms;
const statusesOf = (received: readonly Received[], subject: string) =>
  received.flatMap(alarmsIn).flatMap((shown) => (shown.subject === subject ? [shown.status] : []));
const openSubjects = async (context: Parameters<typeof listAlarms>[0]) =>
  (await listAlarms(context, { all: false, limit: 100 })).map(({ kind, subject }) => `${kind} ${subject}`);

test("an alarm arrives once by each channel when it is raised, and once when it is resolved", async (t) => {
  const { context, mail, hook, slack, start } = await openStage(t);
  await start();
  await raiseAlarm(context, { ...alarm, note: "the answer <lost> & gone" });
  await raiseAlarm(context, { ...alarm, note: "again" });
  const all = (count: number) => [mail.mails, hook.received, slack.received].every(({ length }) => length === count);
  await until("it has arrived", () => all(1));
  await resolveAlarm(context, alarm);
  await until("its end has arrived", () => all(2));
  const [opened, resolved] = mail.mails;
  assert.deepEqual(opened!.to, ["ops@shop.example"]);
  assert.match(opened!.headers.subject!, /^\[deedhouse .*\] ALARM: order REG-1-A$/);
  assert.match(opened!.body, /Alarm: order\r\nAbout: REG-1-A\r\nSince: /);
  assert.equal(opened!.headers["auto-submitted"], "auto-generated");
  assert.match(resolved!.headers.subject!, /\] resolved: order REG-1-A$/);
  assert.equal(resolved!.headers["in-reply-to"], opened!.headers["message-id"]);
  for (const received of hook.received) assertSigned(received, webhookSecret);
  assert.deepEqual(
    hook.received.map(({ event }) => event.type),
    ["alarm.opened", "alarm.resolved"],
  );
  assert.deepEqual(statusesOf(hook.received, alarm.subject), ["opened", "resolved"]);
  const said = JSON.parse(slack.received[0]!.text) as { text: string };
  assert.match(said.text, /ALARM: order REG-1-A/);
  assert.doesNotMatch(said.text, /[<>]|&(?!amp;|lt;|gt;)/);
});

test("an alarm that is open when a channel is set up arrives, and one that is rolled back does not", async (t) => {
  const { context, hook, start } = await openStage(t);
  await raiseAlarm(context, { ...alarm, note: "since yesterday" });
  await start();
  await until("it has arrived", () => hook.received.length === 1);
  const undone = context.database.transaction(async (tx) => {
    await raiseAlarm(context, { kind: "order", subject: "REG-2-B", note: "undone" }, tx);
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  await resolveAlarm(context, alarm);
  await until("the other's end has arrived", () => hook.received.length === 2);
  assert.deepEqual(statusesOf(hook.received, "REG-2-B"), []);
});

test("who raises an alarm does not wait for who writes its channel's row", async (t) => {
  const { url, context, mail, start } = await openStage(t);
  await (await start()).close();
  const writer = new Client({ connectionString: url });
  await writer.connect();
  await writer.query("BEGIN; UPDATE alarm_channels SET seen_at = now()");
  await raiseAlarm(context, { ...alarm, note: "meanwhile" });
  assert.deepEqual(await openSubjects(context), ["order REG-1-A"]);
  await writer.query("COMMIT");
  await writer.end();
  await start();
  await until("it has arrived", () => mail.mails.length === 1);
});

test("a channel that fails for an hour is an alarm on the others, loses nothing, and is well again", async (t) => {
  const { context, clock, mail, hook, slack, start } = await openStage(t);
  hook.answer = (response) => void response.writeHead(500).end();
  await start();
  await raiseAlarm(context, { ...alarm, note: "lost" });
  await until("the others have it", () => mail.mails.length === 1 && slack.received.length === 1);
  await until("the alarm about the channel is open", async () => {
    clock.skip(1 / 20);
    return (await openSubjects(context)).includes("alarm-channel webhook");
  });
  await until("the others have it", () => mail.mails.length === 2 && slack.received.length === 2);
  assert.match(mail.mails[1]!.body, /by webhook have failed since .*It answered 500/s);
  const failed = hook.received.length;
  assert.ok(failed > 2);
  hook.answer = (response) => void response.writeHead(200).end();
  await until("the channel is well", async () => {
    clock.skip(1 / 20);
    return (await openSubjects(context)).join() === "order REG-1-A";
  });
  assert.deepEqual(new Set(hook.received.map(({ event }) => event.id)).size, 1, "it is the same message each time");
  assert.equal(hook.received.length, failed + 1);
  await until("the others have its end", () => mail.mails.length === 3 && slack.received.length === 3);
});

test("no more than 20 messages leave by a channel in an hour, and the rest is in a summary", async (t) => {
  const { url, context, clock, mail, hook, start } = await openStage(t);
  const alarms = 70;
  const raise = async (from: number, to: number) => {
    for (let number = from; number < to; number++) {
      await raiseAlarm(context, { kind: "hosting", subject: `site-${number}.example`, note: `problem ${number}` });
    }
  };
  const seen = () => new Set(hook.received.flatMap(alarmsIn).map(({ subject }) => subject)).size;
  await raise(0, alarms);
  await start();
  await until("all have arrived", () => seen() === alarms);
  assert.deepEqual([hook.received.length, hook.received.at(-1)!.event.type], [20, "alarm.summary"]);
  assert.equal(alarmsIn(hook.received.at(-1)!).length, alarms - 19);
  await until("by mail also", () => mail.mails.length === 20);
  assert.match(mail.mails.at(-1)!.headers.subject!, /summary: 51 alarms opened, 0 resolved/);
  assert.match(mail.mails.at(-1)!.body, /and 1 more\./);
  await raise(alarms, alarms + 3);
  await until("they wait", async () => {
    const [row] = await runSql<{ is_so: boolean }>(
      url,
      "SELECT bool_and(next_step_at > now() + interval '50 minutes') AS is_so FROM alarm_channels",
    );
    return row!.is_so;
  });
  assert.equal(hook.received.length, 20);
  clock.skip(61 / 60);
  await until("they arrive one by one", () => seen() === alarms + 3);
  assert.equal(hook.received.length, 23);
});

test("a message that the mail server never takes holds up no other, and is given up after a day", async (t) => {
  const { url, context, clock, mail, start } = await openStage(t);
  mail.judge = ({ body }) => {
    if (body.includes("REG-1-A")) throw Object.assign(new Error("refused for its content"), { responseCode: 554 });
  };
  await start({ mail: mailTo(mail) });
  await raiseAlarm(context, { ...alarm, note: "never taken" });
  await raiseAlarm(context, { kind: "order", subject: "REG-2-B", note: "taken" });
  const statuses = async () =>
    (await runSql<{ status: string }>(url, "SELECT status FROM alarm_messages WHERE what = 'opened' ORDER BY id")).map(
      ({ status }) => status,
    );
  await until("the other has arrived", async () => {
    clock.skip(1 / 60);
    return mail.mails.length === 1;
  });
  assert.deepEqual(await statuses(), ["Pending", "Sent"]);
  await until("it is given up", async () => {
    clock.skip(1);
    return (await statuses())[0] === "Failed";
  });
  assert.equal(mail.mails.length, 1);
  const [row] = await runSql<{ error_text: string }>(url, "SELECT error_text FROM alarm_messages ORDER BY id LIMIT 1");
  assert.match(row!.error_text, /refused for its content/);
});

test("a mailbox that is gone is an alarm, and the others get the mail", async (t) => {
  const { context, mail, slack, channels, start } = await openStage(t);
  mail.refused.add("gone@shop.example");
  await start({ ...channels, mail: { ...mailTo(mail), to: ["gone@shop.example", "ops@shop.example"] } });
  await raiseAlarm(context, { ...alarm, note: "one of two" });
  await until("the chat has the alarm about the mailbox", () => slack.received.length === 2);
  assert.deepEqual(mail.mails[0]!.to, ["ops@shop.example"]);
  assert.match(slack.received[1]!.text, /alarm-channel mail.*refused gone@shop\.example/s);
});

test("a test goes by each channel, says what is wrong, and changes nothing for what waits", async (t) => {
  const { context, mail, hook, start } = await openStage(t);
  assert.deepEqual(await requestChannelTests(context), [], "no channel is set up");
  const isOver = async (ids: readonly number[]) =>
    (await readChannelTests(context, ids)).every(({ status }) => status !== "Pending");
  await start();
  hook.answer = (response) => void response.writeHead(410).end();
  const ids = await requestChannelTests(context);
  await until("it is over", () => isOver(ids));
  const tests = await readChannelTests(context, ids);
  assert.deepEqual(
    tests.map(({ channel, status }) => [channel, status]),
    [
      ["mail", "Sent"],
      ["slack", "Sent"],
      ["webhook", "Failed"],
    ],
  );
  assert.match(tests[2]!.error_text!, /It answered 410/);
  hook.answer = (response) => void response.writeHead(200).end();
  await raiseAlarm(context, { ...alarm, note: "without a pause" });
  await until("it has arrived", () => hook.received.length === 2);
  assert.equal(mail.mails[0]!.headers.subject!.endsWith("a test of the messages about alarms"), true);
});

test("a mail server that shows a certificate of nobody gets no password", async (t) => {
  const { context, start } = await openStage(t);
  const pem = await makeCertificate("127.0.0.1", [], systemClock);
  const server = await startMailServer(t, { cert: pem, key: pem });
  await start({ mail: mailTo(server) });
  const ids = await requestChannelTests(context);
  const over = async () => (await readChannelTests(context, ids)).find(({ status }) => status !== "Pending");
  await until("it is over", async () => (await over()) !== undefined);
  const { status, error_text } = (await over())!;
  assert.equal(status, "Failed");
  assert.match(error_text!, /certificate/);
  assert.equal(server.mails.length, 0);
});

test("messages of alarms that are over are kept for 90 days, and a channel that nobody sends by for a day", async (t) => {
  const { url, context, clock, mail, start } = await openStage(t);
  const messages = await start({ mail: mailTo(mail) });
  await raiseAlarm(context, { ...alarm, note: "over" });
  await raiseAlarm(context, { kind: "order", subject: "REG-2-B", note: "open" });
  await until("both have arrived", () => mail.mails.length === 2);
  await resolveAlarm(context, alarm);
  await until("the end has arrived", () => mail.mails.length === 3);
  await messages.close();
  const kept = async () =>
    (
      await runSql<{ what: string }>(
        url,
        "SELECT concat_ws(' ', what, subject) AS what FROM alarm_messages JOIN alarms ON alarms.id = alarm_id ORDER BY 1",
      )
    ).map(({ what }) => what);
  await dropOldAlarmMessages(context);
  assert.equal((await kept()).length, 3);
  clock.skip(91 * 24);
  await runSql(url, "UPDATE alarm_channels SET seen_at = $1", [clock.now()]);
  await dropOldAlarmMessages(context);
  assert.deepEqual(await kept(), ["opened REG-2-B"]);
  clock.skip(25);
  await dropOldAlarmMessages(context);
  assert.deepEqual(await runSql(url, "SELECT FROM alarm_channels"), []);
});
