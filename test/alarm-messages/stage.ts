/** A mail server and a receiver that real messages about alarms arrive at. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { startAlarmMessages } from "#alarm-messages/machine.ts";
import type { AlarmChannels, SmtpServer } from "#config-alarms.ts";
import { createListener } from "#db/listener.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { type Scope, testDatabase } from "../harness/database.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { startReceiver } from "../webhooks/stage.ts";

export const webhookSecret = `whsec_${Buffer.alloc(32, "alarms").toString("base64")}`;

/** "Name: value" lines of a mail, by lower-case name, and what follows them. */
export interface Mail {
  to: string[];
  headers: Record<string, string>;
  body: string;
}

export interface MailServer {
  server: SmtpServer;
  mails: Mail[];
  /** Throws what it answers instead of taking the mail; by default it takes it. */
  judge: (mail: Mail) => void | Promise<void>;
  /** Addresses that it has no mailbox for. */
  refused: Set<string>;
}

const login = { user: "deedhouse", password: "post office" };

/** @param pair PEM: it speaks TLS from the first byte */
export async function startMailServer(t: Scope, pair?: { cert: string; key: string }): Promise<MailServer> {
  const smtp = new SMTPServer({
    ...(pair ? { secure: true, ...pair } : { disabledCommands: ["STARTTLS"] }),
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, answer) =>
      username === login.user && password === login.password
        ? answer(null, { user: username })
        : answer(new Error("wrong password")),
    onRcptTo: ({ address }, _session, answer) =>
      answer(made.refused.has(address) ? Object.assign(new Error("no such mailbox"), { responseCode: 550 }) : null),
    onData(stream, session, answer) {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      text(stream)
        .then(async (source) => {
          const mail = readMail(source, to);
          await made.judge(mail);
          made.mails.push(mail);
        })
        .then(() => answer(null), answer);
    },
  });
  smtp.on("error", () => {});
  smtp.listen(0, "127.0.0.1");
  await once(smtp.server, "listening");
  t.after(() => new Promise<void>((resolve) => void smtp.close(() => resolve())));
  const { port } = smtp.server.address() as AddressInfo;
  const server = {
    host: "127.0.0.1",
    port,
    isSecure: pair !== undefined,
    login: { user: login.user, password: new Secret(login.password) },
  };
  const made: MailServer = { server, mails: [], judge: () => {}, refused: new Set() };
  return made;
}

function readMail(source: string, to: string[]): Mail {
  const [head = "", ...body] = source.split("\r\n\r\n");
  const lines = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  const headers = lines.map((line) => [line.replace(/:.*/s, "").toLowerCase(), line.replace(/^[^:]*:\s*/, "")]);
  return { to, headers: Object.fromEntries(headers), body: body.join("\r\n\r\n").replace(/=\r\n/g, "") };
}

export const mailTo = ({ server }: MailServer): NonNullable<AlarmChannels["mail"]> => ({
  server,
  from: "deedhouse@gateway.example",
  to: ["ops@shop.example"],
});

/** The same as settings. */
export const mailSettings = ({ server }: MailServer) => ({
  DEEDHOUSE_SMTP_URL: `smtp://${login.user}:${encodeURIComponent(login.password)}@${server.host}:${server.port}`,
  DEEDHOUSE_MAIL_FROM: "deedhouse@gateway.example",
  DEEDHOUSE_ALARMS_MAIL_TO: "ops@shop.example",
});

/** A database with all three channels, and a clock that can be moved ahead. */
export async function openStage(t: Scope) {
  const closers: (() => unknown)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { url, database } = await testDatabase({ after: (close) => void closers.push(close) });
  const clock = createSteeredClock();
  const log = createLog("test", process.env.DEEDHOUSE_TEST_LOG ?? "silent");
  const listener = createListener({ url, clock, log });
  closers.push(() => listener.close());
  const context = { database, listener, clock, log, random: systemRandom };
  const [mail, hook, slack] = [await startMailServer(t), await startReceiver(t), await startReceiver(t)];
  const channels: AlarmChannels = {
    mail: mailTo(mail),
    webhook: { url: new Secret(hook.url), secret: new Secret(webhookSecret) },
    slack: { url: new Secret(slack.url) },
  };
  const start = async (own: AlarmChannels = channels) => {
    const messages = await startAlarmMessages(context, url, own);
    closers.push(() => messages.close());
    return messages;
  };
  return { url, context, clock, mail, hook, slack, channels, start };
}
