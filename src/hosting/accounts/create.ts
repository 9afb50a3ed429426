import Type from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { passwordHashRow } from "#hosting/accounts/accounts.ts";
import { hashPassword, parsePassword } from "#hosting/accounts/hash-password.ts";
import { holdIdentifier, isFreeFor } from "#hosting/accounts/identifier-free.ts";
import { accepted, medianSeconds } from "#hosting/accounts/present.ts";
import { answerAtIdentifier } from "#hosting/host-names/host-names.ts";
import { type HostIdentifier, InvalidHostIdentifier, parseNewHostIdentifier } from "#lib/host-identifier.ts";
import type { Secret } from "#lib/secret.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase, UseCaseRequest } from "#use-case/use-case.ts";

const requestBody = Type.Object({
  servicepack_id: Type.String(),
  identifier: Type.String(),
  password: Type.String(),
});

/** Digits as a string; more of them could not be an id of ours. */
const packIdPattern = /^[1-9][0-9]{0,14}$/;

const profileExists = statement(
  "hosting-profile-exists",
  "SELECT EXISTS (SELECT FROM reseller_profiles WHERE reseller_id = $1) AS has_profile",
  { has_profile: "bool" },
);

/** SQL: the pack may be had by this reseller. */
const isOnOffer = (resellerId: string) =>
  `pack.retired_at IS NULL AND (pack.offered_to IS NULL OR ${resellerId} = ANY (pack.offered_to))`;

const packOnOffer = statement(
  "hosting-pack-to-buy",
  `SELECT id, version, disk_quota_bytes FROM service_packs AS pack WHERE id = $2 AND ${isOnOffer("$1")}`,
  { id: "int8", version: "int4", disk_quota_bytes: "int8" },
);

const usage = statement(
  "hosting-usage",
  `SELECT hosting_accounts_max, hosting_bytes_max, used.accounts, used.bytes
   FROM resellers CROSS JOIN LATERAL (
     SELECT count(*) AS accounts, coalesce(sum(disk_quota_bytes), 0)::int8 AS bytes
     FROM hosting_accounts WHERE reseller_id = $1 AND status NOT IN ('Failed', 'Removed')) AS used
   WHERE id = $1`,
  { hosting_accounts_max: "int4", hosting_bytes_max: "int8", accounts: "int8", bytes: "int8" },
);

// The caps hold whatever comes at the same time: one of a reseller's creations, and other packs for his accounts, counts
// and writes at a time. This lock leaves the foreign keys that point at the row alone.
export const lockReseller = statement(
  "hosting-reseller-lock",
  "SELECT id FROM resellers WHERE id = $1 FOR NO KEY UPDATE",
  { id: "int8" },
);

// A pack that was retired, revised or taken off his offer since it was checked inserts nothing; the lock lets who does that
// wait until we have committed.
const insertAccount = statement(
  "hosting-account-insert",
  `INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, servicepack_version, password_hash_sealed,
     disk_quota_bytes, files_max, ftp_sessions_max, status, created_at, updated_at, wanted_at,
     next_step_at)
   SELECT $1, $2, pack.id, pack.version, $4, pack.disk_quota_bytes, pack.files_max, pack.ftp_sessions_max, 'Provisioning',
     $5, $5, $5, $5
   FROM service_packs AS pack WHERE pack.id = $3 AND pack.version = $6 AND ${isOnOffer("$2")} FOR SHARE
   RETURNING id, ${medianSeconds} AS median_seconds`,
  { id: "int8", median_seconds: "int4" },
);

const insertFirstHistory = statement(
  "hosting-history-first",
  "INSERT INTO hosting_history (account_id, at, event, status) VALUES ($1, $2, 'requested', 'Provisioning')",
  {},
);

/** POST /hostingaccounts: 202 and an account that is being made, or the reason why not. */
export const createHostingAccount: UseCase = {
  errors: [
    "missing_reseller",
    "missing_reseller_profile",
    "bad_request",
    "invalid_service_pack",
    "hosting_already_exist",
    "service_unavailable",
  ],
  scope: "hosting:create",

  async handle(context, request) {
    if (request.caller.kind !== "reseller") throw new ApiError("missing_reseller");
    const [profile] = await context.database.point(profileExists, [request.caller.resellerId]);
    if (!profile?.has_profile) throw new ApiError("missing_reseller_profile");
    const body = parseBody(requestBody, request.rawBody);
    const identifier = parseIdentifier(context, body.identifier);
    const password = parsePassword(context, body.password, identifier);
    return oneAtATime(identifier, async () => {
      let pack = await checkFacts(context, request, body.servicepack_id, identifier);
      await checkCaps(context.database, request, pack);
      const hash = await hashPassword(context, request.caller.resellerId, password);
      for (;;) {
        const answer = await insert(context, request, { identifier, pack, hash });
        if (answer) return answer;
        // Its next version is on offer now, or nothing is.
        pack = await checkFacts(context, request, body.servicepack_id, identifier);
      }
    });
  },
};

/** The last creation in progress of each identifier. */
const creating = new Map<HostIdentifier, Promise<unknown>>();

/** Of many requests for one identifier, one is hashed; the others wait and see what became of it. */
async function oneAtATime<Result>(identifier: HostIdentifier, work: () => Promise<Result>): Promise<Result> {
  const previous = creating.get(identifier);
  const current = previous ? previous.then(work, work) : work();
  creating.set(identifier, current);
  try {
    return await current;
  } finally {
    if (creating.get(identifier) === current) creating.delete(identifier);
  }
}

interface Pack {
  id: number;
  version: number;
  diskQuotaBytes: number;
}

function parseIdentifier(context: Context, text: string): HostIdentifier {
  try {
    const suffixes = context.registries.flatMap((registry) => registry.suffixes);
    return parseNewHostIdentifier(text, { ...context, suffixes });
  } catch (error) {
    if (!(error instanceof InvalidHostIdentifier)) throw error;
    throw invalidField("identifier", error.message);
  }
}

/** The pack to use, once nothing that the database knows is in the way. */
async function checkFacts(
  { database }: Context,
  request: UseCaseRequest,
  packText: string,
  identifier: HostIdentifier,
): Promise<Pack> {
  const packId = packIdPattern.test(packText) ? Number(packText) : 0;
  const { resellerId } = request.caller;
  const [pack] = await database.query(packOnOffer, [resellerId, packId]);
  if (!pack) throw new ApiError("invalid_service_pack");
  if (!(await isFreeFor(database, resellerId, identifier))) throw alreadyExists(request, identifier);
  return { id: pack.id, version: pack.version, diskQuotaBytes: pack.disk_quota_bytes };
}

/** Asked before the hash, to spare it, and again under the reseller's lock, where the answer lasts. */
async function checkCaps(database: Pick<Transaction, "query">, request: UseCaseRequest, pack: Pack): Promise<void> {
  const [used] = await database.query(usage, [request.caller.resellerId]);
  if (!used) throw new Error("the usage query returned no row");
  if (used.accounts >= used.hosting_accounts_max) {
    throw invalidField("identifier", `You have ${used.accounts} hosting accounts, as many as you may have.`);
  }
  if (used.bytes + pack.diskQuotaBytes > used.hosting_bytes_max) {
    throw invalidField("servicepack_id", "Your accounts' disk quotas together would exceed what you may use.");
  }
}

function alreadyExists(request: UseCaseRequest, identifier: HostIdentifier): ApiError {
  const location = `${request.prefix}/hostingaccounts/${identifier}`;
  return new ApiError("hosting_already_exist", { headers: { location } });
}

interface NewAccount {
  identifier: HostIdentifier;
  pack: Pack;
  hash: Secret;
}

/** @returns nothing when the pack is not on offer any more as it was checked */
async function insert(context: Context, request: UseCaseRequest, { identifier, pack, hash }: NewAccount) {
  const inTransaction = async (tx: Transaction) => {
    const { resellerId } = request.caller;
    await tx.query(lockReseller, [resellerId]);
    await holdIdentifier(tx, identifier);
    if (!(await isFreeFor(tx, resellerId, identifier))) throw alreadyExists(request, identifier);
    await checkCaps(tx, request, pack);
    const now = context.clock.now();
    const sealed = context.sealer.seal(passwordHashRow(identifier), hash);
    const [account] = await tx.query(insertAccount, [identifier, resellerId, pack.id, sealed, now, pack.version]);
    if (!account) return undefined;
    await tx.query(insertFirstHistory, [account.id, now]);
    if (context.bareIdentifiers) await tx.query(answerAtIdentifier, [account.id, identifier, now]);
    const answer = accepted(request.prefix, identifier, account.median_seconds);
    await request.commit(tx, answer);
    return answer;
  };
  try {
    return await context.database.transaction(inTransaction);
  } catch (error) {
    // Of requests for one identifier at the same time, the unique index lets one through; of a site that comes to answer there
    // and an account that is to be called so, another one does.
    const isTaken = ["hosting_accounts_identifier", "host_names_proven"].some((index) =>
      isUniqueViolation(error, index),
    );
    if (isTaken) throw alreadyExists(request, identifier);
    throw error;
  }
}
