import Type from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { passwordHashRow } from "#hosting/accounts/accounts.ts";
import { isFreeFor, lockIdentifier } from "#hosting/accounts/identifier-free.ts";
import { hashPassword, parsePassword, passwordField } from "#hosting/accounts/password.ts";
import { medianSeconds } from "#hosting/accounts/present.ts";
import { serveAtIdentifier } from "#hosting/host-names/identifiers.ts";
import { type HostIdentifier, InvalidHostIdentifier, parseNewHostIdentifier } from "#lib/host-identifier.ts";
import type { Secret } from "#lib/secret.ts";
import { lockReseller } from "#locks/reseller-lock.ts";
import { parseBody } from "#use-case/body.ts";
import { accepted } from "#use-case/check-after.ts";
import type { Docs } from "#use-case/docs.ts";
import type { UseCase, UseCaseRequest } from "#use-case/use-case.ts";

/** A new account as a door's body describes it. */
export interface AccountOrder {
  packId: string;
  identifier: string;
  /** Undefined: FTP is disabled until a password is set. */
  password: string | undefined;
}

export interface AccountOrderForm {
  body: Docs["body"];
  /** @throws ApiError `bad_request` */
  parse(rawBody: Buffer): AccountOrder;
  /** The password's name in the body. */
  passwordField: string;
}

const requestBody = Type.Object({
  servicepack_id: Type.String({ examples: ["14490"] }),
  identifier: Type.String({ description: "A host name; usually the FTP user name.", examples: ["hello.example"] }),
  password: passwordField,
});

const form: AccountOrderForm = {
  body: requestBody,
  passwordField: "password",
  parse(rawBody) {
    const { servicepack_id: packId, ...order } = parseBody(requestBody, rawBody, { comparedOnly: ["servicepack_id"] });
    return { ...order, packId };
  },
};

/** No id has more digits. */
const packIdPattern = /^[1-9][0-9]{0,14}$/;

const profileExists = statement(
  "hosting-profile-exists",
  "SELECT EXISTS (SELECT FROM reseller_profiles WHERE reseller_id = $reseller_id) AS has_profile",
  { has_profile: "bool" },
);

/** SQL: the pack is on offer to the reseller. */
const isOnOffer = "pack.retired_at IS NULL AND (pack.offered_to IS NULL OR $reseller_id = ANY (pack.offered_to))";

const packOnOffer = statement(
  "hosting-pack-to-buy",
  `SELECT id, version, disk_quota_bytes FROM service_packs AS pack WHERE id = $pack_id AND ${isOnOffer}`,
  { id: "int8", version: "int4", disk_quota_bytes: "int8" },
);

const usage = statement(
  "hosting-usage",
  `SELECT hosting_accounts_max, hosting_bytes_max, used.accounts, used.bytes
   FROM resellers CROSS JOIN LATERAL (
     SELECT count(*) AS accounts, coalesce(sum(disk_quota_bytes), 0)::int8 AS bytes
     FROM hosting_accounts WHERE reseller_id = $reseller_id AND status NOT IN ('Failed', 'Removed')) AS used
   WHERE id = $reseller_id`,
  { hosting_accounts_max: "int4", hosting_bytes_max: "int8", accounts: "int8", bytes: "int8" },
);

// Inserts nothing when the pack is no longer on offer as it was checked. The lock keeps it so until we have committed.
const insertAccount = statement(
  "hosting-account-insert",
  `INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, servicepack_version, password_hash_sealed,
     disk_quota_bytes, files_max, ftp_sessions_max, status, created_at, updated_at, wanted_at, next_step_at)
   SELECT $identifier, $reseller_id, pack.id, pack.version, $password_hash_sealed, pack.disk_quota_bytes, pack.files_max,
     pack.ftp_sessions_max, 'Provisioning', $now, $now, $now, $now
   FROM service_packs AS pack WHERE pack.id = $pack_id AND pack.version = $pack_version AND ${isOnOffer} FOR SHARE
   RETURNING id, ${medianSeconds} AS median_seconds`,
  { id: "int8", median_seconds: "int4" },
);

const insertFirstHistory = statement(
  "hosting-history-first",
  "INSERT INTO hosting_history (account_id, at, event, status) VALUES ($account_id, $at, 'requested', 'Provisioning')",
  {},
);

/** Answers 202: the account is being created. */
export const accountCreator = ({ body, parse, passwordField }: AccountOrderForm): UseCase => ({
  errors: [
    "missing_reseller",
    "missing_reseller_profile",
    "bad_request",
    "invalid_service_pack",
    "hosting_already_exist",
    "service_unavailable",
  ],
  scope: "hosting:create",
  docs: {
    operation: "createHostingAccount",
    summary: "Orders a hosting account.",
    body,
    answers: {
      202: {
        description: "It is being created; `location` is where to follow it.",
        headers: ["location", "look-again"],
      },
    },
  },

  async handle(context, request) {
    if (request.caller.kind !== "reseller") throw new ApiError("missing_reseller");
    // Its answer comes back with those about the order: a round trip less. It is judged first all the same.
    const profile = Promise.allSettled([checkProfile(context, request)]);
    const order = readOrder();
    const { packId, identifier, password } = await order.catch(() => afterFirst(profile, order));
    return afterEarlierCreations(identifier, async () => {
      let pack = await afterFirst(profile, checkFacts(context, request, packId, identifier));
      const hash = password && (await hashPassword(context, request.caller.resellerId, password));
      for (;;) {
        const answer = await insert(context, request, { identifier, pack, hash });
        if (answer) return answer;
        // The pack was revised or retired meanwhile.
        pack = await checkFacts(context, request, packId, identifier);
      }
    });

    async function readOrder() {
      const { packId, ...order } = parse(request.rawBody);
      const identifier = parseIdentifier(context, order.identifier);
      const password =
        order.password === undefined
          ? undefined
          : await parsePassword(context, order.password, identifier, passwordField);
      return { packId, identifier, password };
    }
  },
});

/** POST /hostingaccounts */
export const createHostingAccount = accountCreator(form);

/** The last creation in progress of each identifier. */
const creating = new Map<HostIdentifier, Promise<unknown>>();

/** Of concurrent requests for one identifier, only the first hashes its password; the others then find the identifier taken. */
async function afterEarlierCreations<Result>(identifier: HostIdentifier, work: () => Promise<Result>): Promise<Result> {
  const previous = creating.get(identifier);
  const current = previous ? previous.then(work, work) : work();
  creating.set(identifier, current);
  try {
    return await current;
  } finally {
    if (creating.get(identifier) === current) creating.delete(identifier);
  }
}

/** Waits for both. @throws the error of the first, if both fail */
async function afterFirst<Result>(first: Promise<[PromiseSettledResult<void>]>, second: Promise<Result>) {
  const [[judged]] = await Promise.all([first, Promise.allSettled([second])]);
  if (judged.status === "rejected") throw judged.reason;
  return second;
}

/** @throws ApiError `missing_reseller_profile` */
async function checkProfile({ database }: Context, { caller }: UseCaseRequest): Promise<void> {
  const [profile] = await database.point(profileExists, { reseller_id: caller.resellerId });
  if (!profile?.has_profile) throw new ApiError("missing_reseller_profile");
}

type Pack = NonNullable<(typeof packOnOffer)["row"]>;

function parseIdentifier(context: Context, text: string): HostIdentifier {
  try {
    const suffixes = context.registries.flatMap((registry) => registry.suffixes);
    return parseNewHostIdentifier(text, { ...context, suffixes });
  } catch (error) {
    if (!(error instanceof InvalidHostIdentifier)) throw error;
    throw invalidField("identifier", error.message);
  }
}

/** @returns the pack, if the database knows nothing that prevents the creation */
async function checkFacts(
  { database }: Context,
  request: UseCaseRequest,
  packText: string,
  identifier: HostIdentifier,
): Promise<Pack> {
  const packId = packIdPattern.test(packText) ? Number(packText) : 0;
  const { resellerId } = request.caller;
  const [[pack], isFree, used] = await Promise.all([
    database.point(packOnOffer, { reseller_id: resellerId, pack_id: packId }),
    isFreeFor({ query: database.point }, resellerId, identifier),
    readUsage(database, resellerId),
  ]);
  if (!pack) throw new ApiError("invalid_service_pack");
  if (!isFree) throw alreadyExists(request, identifier);
  checkCaps(used, pack);
  return pack;
}

type Usage = NonNullable<(typeof usage)["row"]>;

async function readUsage(database: Pick<Transaction, "query">, resellerId: number): Promise<Usage> {
  const [used] = await database.query(usage, { reseller_id: resellerId });
  if (!used) throw new Error("the usage query returned no row");
  return used;
}

/** Called before the hash, which is expensive, and again under the reseller's lock, where the result stays true. */
function checkCaps(used: Usage, pack: Pack): void {
  if (used.accounts >= used.hosting_accounts_max) {
    throw invalidField("identifier", `You have ${used.accounts} hosting accounts, as many as you may have.`);
  }
  if (used.bytes + pack.disk_quota_bytes > used.hosting_bytes_max) {
    throw invalidField("servicepack_id", "Your accounts' disk quotas together would exceed what you may use.");
  }
}

function alreadyExists(request: UseCaseRequest, identifier: HostIdentifier): ApiError {
  const location = `${request.prefix}${request.door.hostingAccountPath(identifier)}`;
  return new ApiError("hosting_already_exist", { headers: { location } });
}

interface NewAccount {
  identifier: HostIdentifier;
  pack: Pack;
  hash: Secret | undefined;
}

const noPassword = Buffer.alloc(0);

/** @returns nothing when the pack is no longer on offer as it was checked */
async function insert(context: Context, request: UseCaseRequest, { identifier, pack, hash }: NewAccount) {
  const inTransaction = async (tx: Transaction) => {
    const { resellerId } = request.caller;
    // Each sees what was committed before the locks, because it begins after them.
    const [, , isFree, used] = await Promise.all([
      lockReseller(tx, resellerId),
      lockIdentifier(tx, identifier),
      isFreeFor(tx, resellerId, identifier),
      readUsage(tx, resellerId),
    ]);
    if (!isFree) throw alreadyExists(request, identifier);
    checkCaps(used, pack);
    const now = context.clock.now();
    const [account] = await tx.query(insertAccount, {
      identifier,
      reseller_id: resellerId,
      password_hash_sealed: hash ? context.sealer.seal(passwordHashRow(identifier), hash) : noPassword,
      pack_id: pack.id,
      pack_version: pack.version,
      now,
    });
    if (!account) return undefined;
    tx.atCommit(insertFirstHistory, { account_id: account.id, at: now });
    if (context.bareIdentifiers) {
      tx.atCommit(serveAtIdentifier, { account_id: account.id, host_name: identifier, now });
    }
    const path = request.door.hostingCreationPath({ id: account.id, identifier });
    const answer = accepted(request, path, account.median_seconds);
    await request.commit(tx, answer);
    return answer;
  };
  try {
    return await context.database.transaction(inTransaction);
  } catch (error) {
    // Another process created an account with this identifier, or proved it as a host name, at the same time.
    const uniqueIndexes = ["hosting_accounts_identifier", "host_names_proven"];
    if (!uniqueIndexes.some((index) => isUniqueViolation(error, index))) throw error;
    throw alreadyExists(request, identifier);
  }
}
