/**
 * Tells an operator of what will stop our logins, or has: what a registry says of them (RFC 8807), and the end of our own
 * client certificate, which most registries say nothing of. An alarm for each type of event, open until a login that the
 * registry says nothing more of.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { findCertificateTrouble } from "#registry/epp/client-certificate.ts";
import type { LoginSecurityEvent } from "#registry/epp/commands/session/login-security.ts";
import type { LoginReport } from "#registry/epp/session.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** What the registry writes goes into an alarm's note up to here. */
const eventCharsMax = 500;

const openAlarms = statement(
  "registry-login-alarms",
  "SELECT subject FROM alarms WHERE kind = 'registry-login' AND resolved_at IS NULL AND starts_with(subject, $prefix)",
  { subject: "text" },
);

const kind = "registry-login";

/** By the events' types (RFC 8807 §3.1). */
const adviceOf: Readonly<Record<string, (registryId: string) => string>> = {
  password: (id) => `change it: deedhouse registry password ${id}`,
  newPW: (id) => `choose another one: deedhouse registry password ${id}`,
  certificate: () => "replace it: docs/registries.md, A new certificate",
  cipher: () => "ask the registry what it will take, and update Node.js, whose ciphers we offer",
  tlsProtocol: () => "ask the registry what it will take, and update Node.js, whose TLS we speak",
  stat: (id) => `if those are not ours, ask the registry, and change the password: deedhouse registry password ${id}`,
  custom: () => "ask the registry what it wants",
};

export interface LoginWatch {
  /** To be told of every login that was answered. */
  onLogin(report: LoginReport): void;
  /** To be called from time to time: a certificate ends while nobody logs in, too. */
  check(): Promise<void>;
}

/** Of one registry and the process that owns its sessions. An alarm that could not be written comes with the next login or look. */
export function createLoginWatch(
  context: Pick<Context, "database" | "clock" | "log">,
  { id, cert }: Pick<RegistryProfile, "id" | "cert">,
): LoginWatch {
  /** By type. What a login that was refused says is added to what the last good one said. */
  let events = new Map<string, LoginSecurityEvent[]>();
  /** Before the first good login, what another process has heard may still be so. */
  let isComplete = false;
  let written = Promise.resolve();

  async function write(): Promise<void> {
    const notes = new Map([...events].map(([type, those]) => [type, those.map(describe).join("; ")]));
    const trouble = findCertificateTrouble(cert, context.clock.now());
    // In the last week an alarm of its own, so that whoever has put the first one off hears it again.
    const type = trouble?.isUrgent ? "certificate in its last days" : "certificate";
    if (trouble) notes.set(type, [trouble.sentence, notes.get(type)].filter(Boolean).join("; "));
    for (const [what, said] of notes) {
      const advice = adviceOf[what.split(" ", 1)[0]!]!(id);
      await raiseAlarm(context, { kind, subject: `${id} ${what}`, note: `${said}: ${advice}` });
    }
    if (!isComplete) return;
    for (const { subject } of await context.database.query(openAlarms, { prefix: `${id} ` })) {
      if (!notes.has(subject.slice(id.length + 1))) await resolveAlarm(context, { kind, subject });
    }
  }

  /** One after the other, so that what was heard last is what is written last. */
  const check = () => {
    const writing = written.then(write);
    written = writing.catch(() => {});
    return writing;
  };
  return {
    onLogin(report) {
      isComplete ||= report.succeeded;
      const byType = Map.groupBy(report.events, ({ type }) => (Object.hasOwn(adviceOf, type) ? type : "custom"));
      events = new Map([...(report.succeeded ? [] : events), ...byType]);
      check().catch((error: unknown) =>
        context.log.error({ err: error, registry: id }, "an alarm could not be written"),
      );
    },
    check,
  };
}

function describe({ type, level, name, value, duration, exDate, text }: LoginSecurityEvent): string {
  const what = [type, name, value, duration && `in ${duration}`].filter(Boolean).join(" ");
  const until = exDate && (level === "error" ? ` since ${exDate.toISOString()}` : ` until ${exDate.toISOString()}`);
  return `the registry says of our login: ${level}, ${what}${until ?? ""}: ${text}`.slice(0, eventCharsMax);
}
