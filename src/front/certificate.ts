import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { type TlsPair, watchTlsFiles } from "#lib/net/tls-pair.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { reportDefect } from "#lib/report-defect.ts";

const lookMsDefault = 10_000;

export interface FollowedCertificate {
  /** The server that presents the certificate, for the alarm. */
  subject: "the api" | "the agents' endpoint";
  served: TlsPair;
  /** Default 10 s. */
  lookMs?: number | undefined;
  /** Serves another pair to new connections. @throws Error when the pair cannot be served */
  serve(pair: TlsPair): void;
}

/**
 * Serves a renewed certificate without a restart. A certificate that cannot be served raises an alarm.
 * @returns stops following
 */
export function followCertificate(
  context: Pick<Context, "database" | "clock" | "log">,
  { subject, served, lookMs = lookMsDefault, serve }: FollowedCertificate,
): () => void {
  const { files } = served;
  if (!files) return () => {};
  const alarm = { kind: "certificate", subject } as const;
  const write = async (mistake: string | undefined) => {
    const note = `${files.certificate} and ${files.key} cannot be served; the previous certificate stays in use: ${mistake}`;
    try {
      if (mistake === undefined) await resolveAlarm(context, alarm);
      else await raiseAlarm(context, { ...alarm, note });
    } catch (error) {
      context.log.error({ err: error, ...alarm, note }, "an alarm could not be written");
    }
  };
  // Written one after the other: the end of an alarm must not be written before the alarm.
  const queue = createSerialQueue();
  const report = (mistake: string | undefined) => {
    queue(() => write(mistake)).catch(reportDefect);
  };
  // The startup that came here has read the files, so an older alarm is over.
  report(undefined);
  return watchTlsFiles({
    files,
    served,
    lookMs,
    report,
    serve(pair) {
      serve(pair);
      context.log.info({ subject, file: files.certificate }, "serving another certificate from now on");
    },
  });
}
