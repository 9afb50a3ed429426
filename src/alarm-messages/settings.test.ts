import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "#config.ts";

const required = {
  DATABASE_URL: "postgres://127.0.0.1/x",
  DEEDHOUSE_MASTER_KEY: "1:00",
  DEEDHOUSE_REPLAY_DIR: "/nowhere",
  DEEDHOUSE_REGISTRIES_FILE: "/nowhere.json",
};
const read = (settings: Record<string, string>) => loadConfig({ ...required, ...settings }).alarmChannels;
const secret = `whsec_${Buffer.alloc(24, "x").toString("base64")}`;
const from = { DEEDHOUSE_MAIL_FROM: "deedhouse@gateway.example" };
const mail = { ...from, DEEDHOUSE_ALARMS_MAIL_TO: "ops@shop.example, night@shop.example" };

test("without settings no channel is set up, and a mail server alone is none", () => {
  assert.deepEqual(read({}), {});
  assert.deepEqual(read({ ...from, DEEDHOUSE_SMTP_URL: "smtp://mail.example" }), {});
});

test("a mail server's URL has its port, login and kind of TLS", () => {
  const server = (url: string) => read({ ...mail, DEEDHOUSE_SMTP_URL: url }).mail!.server;
  const { login, ...tls } = server("smtps://me%40shop.example:p%3Aw%2F@mail.example");
  assert.deepEqual(tls, { host: "mail.example", port: 465, isSecure: true });
  assert.deepEqual([login!.user, login!.password.reveal()], ["me@shop.example", "p:w/"]);
  assert.deepEqual(server("smtp://[::1]:2525"), { host: "::1", port: 2525, isSecure: false, login: undefined });
  assert.equal(server("smtp://mail.example").port, 25);
});

test("each channel has its receivers", () => {
  const channels = read({
    ...mail,
    DEEDHOUSE_SMTP_URL: "smtp://127.0.0.1",
    DEEDHOUSE_ALARMS_WEBHOOK: `https://hooks.inner/deedhouse\n${secret}`,
    DEEDHOUSE_ALARMS_SLACK: "https://chat.example/hooks/T0/B1",
  });
  assert.deepEqual(channels.mail!.to, ["ops@shop.example", "night@shop.example"]);
  assert.deepEqual(
    [channels.webhook!.url.reveal(), channels.webhook!.secret.reveal()],
    ["https://hooks.inner/deedhouse", secret],
  );
  assert.equal(channels.slack!.url.reveal(), "https://chat.example/hooks/T0/B1");
});

const mistakes: [string, Record<string, string>, RegExp][] = [
  [
    "a mail server with another scheme",
    { ...mail, DEEDHOUSE_SMTP_URL: "http://mail.example" },
    /DEEDHOUSE_SMTP_URL must/,
  ],
  ["a mail server with a path", { ...mail, DEEDHOUSE_SMTP_URL: "smtp://mail.example/x" }, /DEEDHOUSE_SMTP_URL must/],
  ["no mail server", mail, /DEEDHOUSE_SMTP_URL is not set/],
  ["no sender", { ...mail, DEEDHOUSE_MAIL_FROM: "", DEEDHOUSE_SMTP_URL: "smtp://a" }, /DEEDHOUSE_MAIL_FROM is not set/],
  [
    "a receiver with a name",
    { ...mail, DEEDHOUSE_ALARMS_MAIL_TO: "<a@b>", DEEDHOUSE_SMTP_URL: "smtp://a" },
    /addresses like/,
  ],
  ["a webhook without a secret", { DEEDHOUSE_ALARMS_WEBHOOK: "https://a.example" }, /secret that signs/],
  ["a webhook in plain text", { DEEDHOUSE_ALARMS_WEBHOOK: `http://a.example ${secret}` }, /https:\/\/ URL/],
  ["a chat in plain text", { DEEDHOUSE_ALARMS_SLACK: "http://a.example/hook" }, /https:\/\/ URL/],
];
for (const [what, settings, reason] of mistakes) {
  test(`refuses ${what}, and does not quote a secret`, () => {
    assert.throws(
      () => read(settings),
      (error: Error) => reason.test(error.message) && !error.message.includes(secret),
    );
  });
}

test("plain HTTP is taken on loopback, and elsewhere where it is allowed", () => {
  const plain = (url: string, more: Record<string, string> = {}) =>
    read({ DEEDHOUSE_ALARMS_SLACK: url, ...more }).slack!.url.reveal();
  assert.equal(plain("http://127.0.0.1:9/hook"), "http://127.0.0.1:9/hook");
  assert.equal(plain("http://a.example/", { DEEDHOUSE_WEBHOOK_PLAIN_HTTP: "1" }), "http://a.example/");
});
