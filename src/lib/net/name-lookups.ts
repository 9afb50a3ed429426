/**
 * Asks name servers about names that strangers have given. Their name servers may be silent on purpose, so a lookup never uses
 * getaddrinfo, which has four threads for the whole process and no deadline, and an account has a few lookups in progress at once.
 */
import { lookup, Resolver } from "node:dns/promises";
import { createSourceTurns, TooManyWaiting } from "#lib/queues/source-turns.ts";

const firstAttemptMs = 2_000;
const attemptMsMax = 3_000;
const attemptsMax = 2;
/** Of one lookup, however many name servers there are. */
const lookupMsMax = 5_000;
/** With the wait for a turn. */
const answerMsMax = 8_000;
/** Of one account. */
const lookupsAtOnceMax = 4;

/** What the name servers have; empty when the name or the records do not exist. Or why they did not answer. */
export type NameAnswer = { found: string[] } | { problem: string };

/** No method throws. Each takes a few seconds at most, also when no name server answers. */
export interface NameLookups {
  /**
   * The IPv4 and IPv6 addresses of a name, which may be private ones: judge them.
   * @param who the account that supplied the name: its lookups take turns @param signal ends the lookup as if no answer had
   * come
   */
  findAddresses(who: number, name: string, signal?: AbortSignal): Promise<NameAnswer>;
  /** The texts of the TXT records at a name. The parameters are those of `findAddresses`. */
  findTexts(who: number, name: string, signal?: AbortSignal): Promise<NameAnswer>;
}

/** For names that the operator has set, which may be in /etc/hosts: asks the system. */
export const systemLookups: Pick<NameLookups, "findAddresses"> = {
  findAddresses: (_who, name) =>
    lookup(name, { all: true }).then(
      (found) => ({ found: found.map(({ address }) => address) }),
      ({ code = "unknown" }: NodeJS.ErrnoException) => ({ problem: code }),
    ),
};

/**
 * @param servers addresses with or without a port (`192.0.2.1`, `[2001:db8::1]:53`); empty: those of the system
 * @throws TypeError for what is no address
 */
export function createNameLookups(servers: readonly string[]): NameLookups {
  openResolver(servers);
  const turns = createSourceTurns();

  async function inTurn(
    who: number,
    signal: AbortSignal | undefined,
    ask: (resolver: Resolver) => Promise<string[]>[],
  ): Promise<NameAnswer> {
    const over = new AbortController();
    const end = () => over.abort();
    const timer = setTimeout(end, answerMsMax);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
    const answered = turns.take(
      String(who),
      () => lookupsAtOnceMax,
      () => lookUp(servers, over.signal, ask),
    );
    try {
      return await Promise.race([answered, untilAborted(over.signal)]);
    } catch (error) {
      if (error instanceof TooManyWaiting) return { problem: "EBUSY" };
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    }
  }

  return {
    async findAddresses(who, name, signal) {
      // RFC 6761 §6.3: no name server is asked about it.
      if (/(^|\.)localhost\.?$/.test(name)) return { found: ["127.0.0.1", "::1"] };
      return inTurn(who, signal, (resolver) => [resolver.resolve4(name), resolver.resolve6(name)]);
    },
    findTexts: (who, name, signal) =>
      // A record's text may be cut into strings of up to 255 bytes, which are one text (RFC 7208 §3.3 says so for SPF).
      inTurn(who, signal, (resolver) => [
        resolver.resolveTxt(name).then((records) => records.map((strings) => strings.join(""))),
      ]),
  };
}

function openResolver(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: firstAttemptMs, maxTimeout: attemptMsMax, tries: attemptsMax });
  if (servers.length > 0) resolver.setServers(servers);
  return resolver;
}

/** Each lookup has a separate resolver: it can be cancelled alone, and shares its source port with no other lookup. */
async function lookUp(
  servers: readonly string[],
  until: AbortSignal,
  ask: (resolver: Resolver) => Promise<string[]>[],
): Promise<NameAnswer> {
  if (until.aborted) return unanswered;
  const resolver = openResolver(servers);
  const cancel = () => resolver.cancel();
  const timer = setTimeout(cancel, lookupMsMax);
  until.addEventListener("abort", cancel, { once: true });
  try {
    const answers = await Promise.allSettled(ask(resolver));
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const problem = answers.map(problemOf).find((code) => code !== undefined);
    return found.length > 0 || problem === undefined ? { found } : { problem };
  } finally {
    clearTimeout(timer);
    until.removeEventListener("abort", cancel);
  }
}

const unanswered = { problem: "ETIMEOUT" };

function untilAborted(signal: AbortSignal): Promise<NameAnswer> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(unanswered);
    else signal.addEventListener("abort", () => resolve(unanswered), { once: true });
  });
}

/** @returns nothing for an answer, also one that says that there is nothing */
function problemOf(answer: PromiseSettledResult<unknown>): string | undefined {
  if (answer.status === "fulfilled") return undefined;
  const { code = "unknown" } = answer.reason as NodeJS.ErrnoException;
  if (code === "ENOTFOUND" || code === "ENODATA") return undefined;
  return code === "ECANCELLED" ? unanswered.problem : code;
}

const serialMsMax = 2_000;

/**
 * Asks one name server, which the operator has set, for the serial of a zone (SOA).
 * @returns the serial, or the code of what went wrong
 */
export async function askSerial(
  { host, port }: { host: string; port: number },
  zone: string,
  signal: AbortSignal,
): Promise<{ serial: number; problem: null } | { serial: null; problem: string }> {
  const resolver = new Resolver({ timeout: serialMsMax, tries: 1 });
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    resolver.setServers([host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`]);
    return { serial: (await resolver.resolveSoa(zone)).serial, problem: null };
  } catch (error) {
    return { serial: null, problem: (error as NodeJS.ErrnoException).code ?? "unknown" };
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
