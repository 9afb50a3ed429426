/** For tests: a pool with a stand-in server. Both are closed when the test ends. */
import type { TestContext } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { EppPool, EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { createEppPool } from "#registry/epp/pool/pool.ts";
import type { StandIn, StandInCertificate, StandInOptions } from "#registry/epp/test-stand-in-server.ts";
import { createCertificate, startStandIn } from "#registry/epp/test-stand-in-server.ts";

let certificate: Promise<StandInCertificate> | undefined;

export interface Fixture {
  readonly standIn: StandIn;
  readonly pool: EppPool;
}

/** @param overrides of the pool's settings @param serverOverrides of the stand-in's */
export async function startFixture(
  context: TestContext,
  overrides: Partial<EppPoolOptions> = {},
  serverOverrides: Partial<StandInOptions> = {},
): Promise<Fixture> {
  certificate ??= createCertificate();
  const standIn = await startStandIn({ certificate: await certificate, ...serverOverrides });
  context.after(() => standIn.close());
  const pool = createEppPool({
    registryId: "stand-in",
    host: "127.0.0.1",
    port: standIn.port,
    tls: { ca: (await certificate).cert, servername: "localhost" },
    registrarId: "ClientX",
    password: new Secret("foo-BAR2"),
    services: {
      requiredObjectURIs: ["urn:ietf:params:xml:ns:domain-1.0"],
      optionalObjectURIs: [],
      extensionURIs: [],
    },
    sessionsMax: 2,
    commandsPerSecond: 1000,
    clock: systemClock,
    random: systemRandom,
    log: createLog("test", "silent"),
    ...overrides,
  });
  context.after(() => pool.drain(0));
  return { standIn, pool };
}

/** How many commands of this name the stand-in received. */
export function count(standIn: StandIn, name: string): number {
  return standIn.requests.filter((request) => request.name === name).length;
}
