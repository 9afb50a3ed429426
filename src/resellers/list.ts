/** What an operator sees of accounts and API keys. What is sealed is not read for it. */
import { statement } from "#db/statement.ts";
import type { OperatorContext } from "#resellers/create.ts";

const newestResellers = statement(
  "operator-resellers",
  `SELECT id, name, kind, rate_limit,
     EXISTS (SELECT FROM reseller_profiles WHERE reseller_id = resellers.id) AS has_profile,
     (SELECT count(*) FROM api_keys WHERE reseller_id = resellers.id AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > $3)) AS keys,
     created_at
   FROM resellers WHERE $1::text IS NULL OR position(lower($1) IN lower(name)) > 0 ORDER BY id DESC LIMIT $2`,
  {
    id: "int8",
    name: "text",
    kind: "text",
    rate_limit: "int4",
    has_profile: "bool",
    keys: "int8",
    created_at: "timestamptz",
  },
);

const newestKeys = statement(
  "operator-api-keys",
  `SELECT key.id AS api_key, reseller.name AS account, label, key.created_at, expires_at, revoked_at,
     NULLIF(allowed_addresses, '{}') AS allowed_addresses, scopes
   FROM api_keys AS key JOIN resellers AS reseller ON reseller.id = reseller_id
   WHERE ($1::int8 IS NULL OR reseller_id = $1)
     AND ($2 OR (revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)))
   ORDER BY key.created_at DESC, key.id LIMIT $3`,
  {
    api_key: "text",
    account: "text",
    label: "text",
    created_at: "timestamptz",
    expires_at: "timestamptz?",
    revoked_at: "timestamptz?",
    allowed_addresses: "text[]?",
    scopes: "text[]",
  },
);

export interface ResellerFilter {
  /** Only those whose names have this text in them, in any case. */
  nameText?: string | undefined;
  limit: number;
}

/** The newest accounts first, each with how many of its keys work. */
export function listResellers({ database, clock }: OperatorContext, { nameText, limit }: ResellerFilter) {
  return database.query(newestResellers, [nameText ?? null, limit, clock.now()]);
}

export interface KeyFilter {
  resellerId?: number | undefined;
  /** Also those that are revoked or have expired. */
  all: boolean;
  limit: number;
}

/** The newest keys first. `allowed_addresses` is null when a key may be used from any. */
export function listKeys({ database, clock }: OperatorContext, { resellerId, all, limit }: KeyFilter) {
  return database.query(newestKeys, [resellerId ?? null, all, limit, clock.now()]);
}
