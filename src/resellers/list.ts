/** Lists accounts and API keys for an operator. It does not read sealed columns. */
import { statement } from "#db/statement.ts";
import type { OperatorContext } from "#resellers/create.ts";

const newestResellers = statement(
  "operator-resellers",
  `SELECT id, name, kind, rate_limit, paid_orders_day_max AS orders_per_day,
     EXISTS (SELECT FROM reseller_profiles WHERE reseller_id = resellers.id) AS has_profile,
     (SELECT count(*) FROM api_keys WHERE reseller_id = resellers.id AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > $now)) AS keys,
     created_at
   FROM resellers WHERE $name_text::text IS NULL OR position(lower($name_text) IN lower(name)) > 0
   ORDER BY id DESC LIMIT $limit`,
  {
    id: "int8",
    name: "text",
    kind: "text",
    rate_limit: "int4",
    orders_per_day: "int4",
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
   WHERE ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id)
     AND ($all OR (revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $now)))
   ORDER BY key.created_at DESC, key.id LIMIT $limit`,
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
  /** Only accounts whose name contains this text, ignoring case. */
  nameText?: string | undefined;
  limit: number;
}

/** The newest accounts first, each with the number of its working keys. */
export function listResellers({ database, clock }: OperatorContext, { nameText, limit }: ResellerFilter) {
  return database.query(newestResellers, { name_text: nameText ?? null, limit, now: clock.now() });
}

export interface KeyFilter {
  resellerId?: number | undefined;
  /** Includes revoked and expired keys. */
  all: boolean;
  limit: number;
}

/** The newest keys first. `allowed_addresses` is null when any address may use the key. */
export function listKeys({ database, clock }: OperatorContext, { resellerId, all, limit }: KeyFilter) {
  return database.query(newestKeys, { reseller_id: resellerId ?? null, all, limit, now: clock.now() });
}
