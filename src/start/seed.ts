/** Sets up a new sandbox: a hosting node, a reseller with a complete profile, a key, and three service packs. */

import type { Config } from "#config.ts";
import { createDatabase } from "#db/database.ts";
import { type NodePlace, registerNode } from "#hosting/nodes/nodes.ts";
import { createPack, hasPacks } from "#hosting/packs/manage.ts";
import { systemClock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer, parseNamedKey, UnreadableSecret } from "#lib/sealed-secret.ts";
import { changeRateLimit, createReseller, findReseller, type OperatorContext } from "#resellers/create.ts";
import { changeKeyScopes, createKey, findKey, type KeyWithSecret } from "#resellers/keys.ts";
import { setProfile } from "#resellers/profile.ts";
import { scopes } from "#use-case/use-case.ts";

const sandboxReseller = "sandbox";
const sandboxLabel = "sandbox";
const megabyte = 1_000_000;

const packs = [
  { name: "Small", diskBytesMax: 100 * megabyte, filesMax: 10_000, ftpSessionsMax: 4 },
  { name: "Medium", diskBytesMax: 1_000 * megabyte, filesMax: 50_000, ftpSessionsMax: 8 },
  { name: "Large", diskBytesMax: 10_000 * megabyte, filesMax: 200_000, ftpSessionsMax: 16 },
];

/** An operator can change this with `deedhouse node set`. */
const nodeRoom = { capacityBytes: 1_000_000 * megabyte, accountsMax: 10_000, tags: [] };

const profile = {
  fullName: "Sandy Sandbox",
  organisation: "Sandbox Reseller",
  email: "sandy@sandbox.example",
  phone: "+1.5555550100",
  street: "1 Example Street",
  city: "Exampleton",
  postalCode: "12345",
  countryCode: "US",
};

export interface Seeded {
  key: KeyWithSecret;
  /** Whether the key is new: only then is its secret shown. */
  isNew: boolean;
}

export type SandboxContext = OperatorContext & AsyncDisposable;

/** The database of the sandbox, for `start` itself. */
export function openSandbox(config: Config, log: Log): SandboxContext {
  const database = createDatabase({
    url: config.databaseUrl,
    transactionsMax: 1,
    pipelinedConnections: 1,
    applicationName: "deedhouse-seed",
    log,
  });
  const sealer = createSealer({ keys: config.masterKeys.map(parseNamedKey), random: systemRandom });
  const dispose = () => database.close();
  return { database, sealer, clock: systemClock, random: systemRandom, [Symbol.asyncDispose]: dispose };
}

/** @param isReady its ports may differ from the last start, and are known once it is ready; until then, a known node stays as it is */
export async function saveNode(context: SandboxContext, node: NodePlace, isReady: boolean): Promise<void> {
  await registerNode(context, node, nodeRoom, isReady);
}

/** Nothing is charged in the sandbox. */
const paidOrdersDayMax = 1_000_000_000;

/** Creates what is missing, gives the key all scopes, and leaves the rest unchanged. @throws Error when the master key is not the database's */
export async function seedSandbox(context: SandboxContext, rateLimit: number | undefined): Promise<Seeded> {
  try {
    let resellerId = await findReseller(context, sandboxReseller);
    if (resellerId === undefined) {
      resellerId = await createReseller(context, {
        name: sandboxReseller,
        kind: "reseller",
        rateLimit,
        paidOrdersDayMax,
      });
      await setProfile(context, resellerId, profile);
    } else if (rateLimit !== undefined) {
      await changeRateLimit(context, resellerId, rateLimit);
    }
    if (!(await hasPacks(context))) for (const pack of packs) await createPack(context, pack);
    const known = await findKey(context, resellerId, sandboxLabel);
    if (known) {
      // A folder of an earlier release: its key lacks the scopes that were added since.
      await changeKeyScopes(context, known.id, { add: scopes, remove: [] });
      return { key: known, isNew: false };
    }
    return { key: await createKey(context, resellerId, { label: sandboxLabel, scopes: "all" }), isNew: true };
  } catch (error) {
    if (!(error instanceof UnreadableSecret)) throw error;
    throw new Error(`master.key is not the key that sealed the secrets in this folder's database: put that key back`);
  }
}
