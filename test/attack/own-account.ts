import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import type { KeyWithSecret } from "#resellers/keys.ts";
import { type ReadyDocument, runTool } from "../harness/running-system.ts";
import { type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const name = "attacker";
const requestsPerMinuteMax = 1_000_000_000;
const attackerAddress = "127.0.0.66";

/** An ordinary account of the attacker's. @returns a function that sends its signed requests */
export async function makeAccount({ url }: ReadyDocument, dataFolder: string) {
  const operate = async (...args: string[]) => {
    const { code, stdout, stderr } = await runTool([...args, "--data", dataFolder, "--json"]);
    if (code !== 0) throw new Error(`deedhouse ${args.join(" ")}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, string>;
  };
  await operate("account", "create", name, "--rate-limit", String(requestsPerMinuteMax));
  const { api_key: id = "", api_secret: secret = "" } = await operate("key", "create", "--account", name);
  const key: KeyWithSecret = { id, secret: new Secret(secret) };
  return (method: string, target: string, options: SignedRequestOptions = {}) =>
    sendSigned({ url, key, clock: systemClock, method, target, localAddress: attackerAddress, ...options });
}

/** Puts a name into the attacker's portfolio. */
export async function giveName({ database_url: databaseUrl }: ReadyDocument, domainName: string): Promise<void> {
  await runSql(
    databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, status)
     SELECT $1, id, 'sandbox', now(), now() + interval '1 year', now() + interval '1 year', true, 'ok'
     FROM resellers WHERE name = $2`,
    [domainName, name],
  );
}
