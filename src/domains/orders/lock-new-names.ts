/** The orders that lock new names against transfers, where the registry's profile says so (`lockNewNames`). */
import { placeFollowUps } from "#domains/orders/follow-up.ts";

/** What the name's reseller orders within this time comes first. */
const lockAfterSeconds = 2;

/**
 * SQL: two CTEs that place an order for each registered name to be locked. `locks` returns domain_name and registry_id.
 * The order's code is the registration's with the prefix CHG: no other order has these random characters.
 * @param registered SQL: id, code, domain_name, registry_id, reseller_id and at of registrations
 */
export const placeLocks = (registered: string): [locks: string, history: string] =>
  placeFollowUps(
    "locks",
    `(SELECT overlay(new.code PLACING 'CHG' FROM 1 FOR 3) AS code, new.reseller_id, new.domain_name, new.registry_id,
        'transfer-lock' AS kind, '{"transfer_locked": true}'::jsonb AS input, new.at,
        new.at + interval '${lockAfterSeconds} s' AS due_at
      FROM ${registered} AS new
        JOIN registration_orders AS asked ON asked.id = new.id AND asked.id = ANY (ARRAY(SELECT id FROM change))
      WHERE asked.locks_name) AS followed`,
    { note: "'the registry''s profile locks new names'" },
  );
