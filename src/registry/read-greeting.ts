import type { Clock } from "#lib/clock.ts";
import { describeConnectFailure } from "#registry/epp/connect-failure.ts";
import { openConnection } from "#registry/epp/connection.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import { type Greeting, parseGreeting } from "#registry/epp/greeting.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Reads the registry's greeting, without a login. @throws EppUnavailable */
export async function readGreeting(profile: RegistryProfile, clock: Clock): Promise<Greeting> {
  const { host, port, tls, timeouts } = eppOptionsOf(profile);
  const { connectMs, greetingMs } = timeouts;
  const signal = new AbortController().signal;
  const options = { host, port, tls, connectMs, greetingMs, signal, validate: await loadFrameValidator() };
  try {
    const { connection, first } = await openConnection(options);
    connection.destroy("only the greeting was needed");
    return parseGreeting(first);
  } catch (cause) {
    throw new EppUnavailable("connect", { cause, detail: describeConnectFailure(cause, { tls, clock }) });
  }
}
