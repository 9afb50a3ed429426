/** The settings of messages about alarms, and of the mail server; a part of src/config.ts. */
import { Secret } from "#lib/secret.ts";
import type { Reader } from "#lib/settings.ts";

export interface SmtpServer {
  host: string;
  port: number;
  /** TLS from the first byte; otherwise by STARTTLS. */
  isSecure: boolean;
  login: { user: string; password: Secret } | undefined;
}

/** Each that is set up. */
export interface AlarmChannels {
  mail?: { server: SmtpServer; from: string; to: string[] };
  webhook?: { url: Secret; secret: Secret };
  /** The URL of an incoming webhook of Slack, Mattermost or another chat with its format. Everyone who knows it can send. */
  slack?: { url: Secret };
}

export const isLoopback = (host: string) => /^(127(\.\d+){3}|::1|localhost)$/.test(host);

const smtpPorts = { "smtp:": 25, "smtps:": 465 } as const;
/** As the server takes it: without a name, spaces and line breaks. */
const mailAddress = /^[^\s<>@,;:"]+@[^\s<>@,;:"]+$/;

function readSmtpServer({ optional, mistakes }: Reader): SmtpServer | undefined {
  const text = optional("DEEDHOUSE_SMTP_URL");
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const usual = smtpPorts[url?.protocol as keyof typeof smtpPorts];
  if (!url || usual === undefined || url.hostname === "" || /[/?#]/.test(url.href.replace(/^\w+:\/\//, ""))) {
    // Not the text: it may have a password.
    mistakes.push("DEEDHOUSE_SMTP_URL must be smtp://[USER:PASSWORD@]HOST[:PORT] or smtps://…, percent-encoded");
    return undefined;
  }
  const [user, password] = [url.username, url.password].map(decodeURIComponent) as [string, string];
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || usual),
    isSecure: url.protocol === "smtps:",
    login: user === "" ? undefined : { user, password: new Secret(password) },
  };
}

function readAlarmMail(reader: Reader): AlarmChannels["mail"] {
  const { optional, list, mistakes } = reader;
  const server = readSmtpServer(reader);
  const from = optional("DEEDHOUSE_MAIL_FROM");
  const to = list("DEEDHOUSE_ALARMS_MAIL_TO");
  for (const address of [...(from === undefined ? [] : [from]), ...to].filter((entry) => !mailAddress.test(entry))) {
    mistakes.push(
      `DEEDHOUSE_MAIL_FROM and DEEDHOUSE_ALARMS_MAIL_TO have addresses like ops@example.net, not "${address}"`,
    );
  }
  if (optional("DEEDHOUSE_SMTP_URL") !== undefined && from === undefined) {
    mistakes.push("DEEDHOUSE_MAIL_FROM is not set: which address sends our mail?");
  }
  if (to.length === 0) return undefined;
  if (optional("DEEDHOUSE_SMTP_URL") === undefined) {
    mistakes.push("DEEDHOUSE_SMTP_URL is not set: which server takes the mail to DEEDHOUSE_ALARMS_MAIL_TO?");
  }
  return server && from !== undefined ? { server, from, to } : undefined;
}

/** The operator may send to inner addresses, but not with a secret in plain text over a network, unless that is allowed. */
function readAlarmUrl({ mistakes }: Reader, setting: string, text: string, mayBePlain: boolean): Secret | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.protocol === "http:";
  const isFine = url?.protocol === "https:" || (url && isPlain && (mayBePlain || isLoopback(url.hostname)));
  if (isFine && url.username === "" && url.password === "" && url.hash === "") return new Secret(text);
  mistakes.push(`${setting} must begin with an https:// URL without user, password and #`);
  return undefined;
}

const webhookSecretPattern = /^whsec_[A-Za-z0-9+/]{24,}={0,2}$/;

export function readAlarmChannels(reader: Reader, mayBePlain: boolean): AlarmChannels {
  const { optional, mistakes } = reader;
  const mail = readAlarmMail(reader);
  const [hookUrl, secret, ...more] = optional("DEEDHOUSE_ALARMS_WEBHOOK")?.split(/\s+/) ?? [];
  const slackUrl = optional("DEEDHOUSE_ALARMS_SLACK");
  const hook =
    hookUrl === undefined ? undefined : readAlarmUrl(reader, "DEEDHOUSE_ALARMS_WEBHOOK", hookUrl, mayBePlain);
  const slack =
    slackUrl === undefined ? undefined : readAlarmUrl(reader, "DEEDHOUSE_ALARMS_SLACK", slackUrl, mayBePlain);
  const isSigned = webhookSecretPattern.test(secret ?? "") && more.length === 0;
  if (hookUrl !== undefined && !isSigned) {
    mistakes.push(
      "DEEDHOUSE_ALARMS_WEBHOOK must be a URL and, after a space or on the next line, the secret that signs: whsec_ and at least 24 characters of base64",
    );
  }
  return {
    ...(mail && { mail }),
    ...(hook && isSigned && { webhook: { url: hook, secret: new Secret(secret!) } }),
    ...(slack && { slack: { url: slack } }),
  };
}
