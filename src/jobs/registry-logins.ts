/**
 * Raises alarms for what stops our logins, now or soon: what the registry reports about them (RFC 8807), and the expiry of our
 * client certificate, which most registries do not report. There is one alarm for each type of event. It stays open until a
 * login succeeds without that event.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { findCertificateProblem } from "#registry/epp/client-certificate.ts";
import type { LoginSecurityEvent } from "#registry/epp/commands/session/login-security.ts";
import type { LoginReport } from "#registry/epp/session.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** How much of an event's text goes into the alarm's note. */
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
  newPW: (id) => `choose another password: deedhouse registry password ${id}`,
  certificate: () => "replace it: docs/registries.md, A new certificate",
  cipher: () => "ask the registry which ciphers it will accept, and update Node.js, whose ciphers we offer",
  tlsProtocol: () => "ask the registry which TLS versions it will accept, and update Node.js, whose TLS we use",
  stat: (id) =>
    `if these logins are not ours, ask the registry, and change the password: deedhouse registry password ${id}`,
  custom: () => "ask the registry what it requires",
};

export interface LoginWatch {
  /** Call it for every login that the registry answered. */
  onLogin(report: LoginReport): void;
  /** Call it periodically: a certificate also expires while there is no login. */
  check(): Promise<void>;
}

/** For the process that owns the registry's sessions. If an alarm cannot be written, the next login or check writes it. */
export function createLoginWatch(
  context: Pick<Context, "database" | "clock" | "log">,
  { id, cert }: Pick<RegistryProfile, "id" | "cert">,
): LoginWatch {
  /** By type. The events of a refused login are added to those of the last successful one. */
  let events = new Map<string, LoginSecurityEvent[]>();
  /** Until the first successful login, the alarms of an earlier process may still be right. */
  let isComplete = false;

  async function write(): Promise<void> {
    const notes = new Map([...events].map(([type, those]) => [type, those.map(describe).join("; ")]));
    const problem = findCertificateProblem(cert, context.clock.now());
    // In the last week it is a separate alarm, so that an operator who put the first one off is alerted again.
    const type = problem?.isUrgent ? "certificate in its last days" : "certificate";
    if (problem) notes.set(type, [problem.sentence, notes.get(type)].filter(Boolean).join("; "));
    for (const [what, said] of notes) {
      const advice = adviceOf[what.split(" ", 1)[0]!]!(id);
      await raiseAlarm(context, { kind, subject: `${id} ${what}`, note: `${said}: ${advice}` });
    }
    if (!isComplete) return;
    for (const { subject } of await context.database.query(openAlarms, { prefix: `${id} ` })) {
      if (!notes.has(subject.slice(id.length + 1))) await resolveAlarm(context, { kind, subject });
    }
  }

  // One after the other, so that the events of the last login are written last.
  const queue = createSerialQueue();
  const check = () => queue(write);
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
  return `the registry reports about our login: ${level}, ${what}${until ?? ""}: ${text}`.slice(0, eventCharsMax);
}
