import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { type TlsPair, watchTlsFiles } from "#lib/net/tls-pair.ts";

const lookMsDefault = 10_000;

export interface FollowedCertificate {
  /** Whose it is, in an alarm. */
  subject: "the api" | "the door of the nodes";
  served: TlsPair;
  /** Default 10 s. */
  lookMs?: number | undefined;
  /** Serves another pair to new connections. @throws Error when it must not be */
  serve(pair: TlsPair): void;
}

/**
 * Serves a certificate that is renewed in its files without a new start; what cannot be served is an alarm.
 * @returns ends it
 */
export function followCertificate(
  context: Pick<Context, "database" | "clock" | "log">,
  { subject, served, lookMs = lookMsDefault, serve }: FollowedCertificate,
): () => void {
  const { files } = served;
  if (!files) return () => {};
  const alarm = { kind: "certificate", subject } as const;
  const write = async (mistake: string | undefined) => {
    const note = `${files.certificate} and ${files.key} cannot be served, the former certificate still is: ${mistake}`;
    try {
      if (mistake === undefined) await resolveAlarm(context, alarm);
      else await raiseAlarm(context, { ...alarm, note });
    } catch (error) {
      context.log.error({ err: error, ...alarm, note }, "an alarm could not be written down");
    }
  };
  // One after the other: the end of an alarm must not be written before the alarm.
  let written = Promise.resolve();
  const tell = (mistake: string | undefined) => {
    written = written.then(() => write(mistake));
  };
  // What was wrong before this start has been read since.
  tell(undefined);
  return watchTlsFiles({
    files,
    served,
    lookMs,
    tell,
    serve(pair) {
      serve(pair);
      context.log.info({ subject, file: files.certificate }, "another certificate is served from now on");
    },
  });
}
