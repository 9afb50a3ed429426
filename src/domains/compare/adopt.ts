/** Names that the registry holds for us and that are in no portfolio: how they are found, and how an operator gives one to an account. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { NameLook } from "#domains/compare/look-at-name.ts";
import { adoptIntoPortfolio } from "#domains/portfolio/rows.ts";
import { OperatorError } from "#operator-error.ts";

// EPP cannot list a registrar's names: what it has told us, and what our orders have left open, is where they may be.
const suspects = statement(
  "names-without-owner",
  `SELECT domain_name, min(registry_id) AS registry_id, string_agg(source, ', ' ORDER BY source) AS source FROM (
     SELECT DISTINCT lower(coalesce(found[1], found[2])) AS domain_name, registry_id,
       'message ' || registry_id || '/' || message_id AS source
     FROM poll_messages, regexp_matches(payload, '<(?:[\\w.-]+:)?name(?:\\s[^>]*)?>\\s*([^<\\s]+)\\s*<|"name":"([^"]+)"', 'g') AS found
     WHERE needs_operator AND done_at IS NULL
     UNION ALL
     SELECT domain_name, registry_id, 'order ' || order_code
     FROM alarms JOIN orders ON order_code = subject
     WHERE orders.kind = 'create' AND alarms.kind = 'order' AND resolved_at IS NULL) AS suspect
   WHERE NOT EXISTS (SELECT FROM domains WHERE domains.domain_name = suspect.domain_name)
   GROUP BY domain_name ORDER BY domain_name` as string,
  { domain_name: "text?", registry_id: "text?", source: "text?" },
);

const adopt = statement(
  "domain-adopt",
  `WITH adopted AS (${adoptIntoPortfolio})
   INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   SELECT domain_name, reseller_id, $now, 'adopted', $note::text FROM adopted RETURNING domain_name` as string,
  { domain_name: "text" },
);

const isOwned = statement(
  "domain-is-owned",
  "SELECT EXISTS (SELECT FROM domains WHERE domain_name = $name) AS is_owned",
  { is_owned: "bool" },
);

export interface Suspect {
  name: string;
  registryId: string;
  /** Where the name was found, for people. */
  source: string;
}

/** Names in messages and orders that wait for a person. The registry must say whether it holds them for us. */
export async function findSuspects({ database }: Pick<Context, "database">): Promise<Suspect[]> {
  const rows = await database.query(suspects, {});
  return rows.flatMap(({ domain_name: name, registry_id: registryId, source }) =>
    name === null || registryId === null ? [] : [{ name, registryId, source: source ?? "" }],
  );
}

export interface Adoption {
  name: string;
  resellerId: number;
  registryId: string;
  /** What the registry has just shown. */
  look: NameLook;
  /** The end of the term, where the registry shows none. */
  expiresAt?: Date | undefined;
}

/** In these states the registry may still refuse or drop the name. */
const undecided = ["pendingCreate", "pendingDelete", "pendingTransfer"];

/** @throws OperatorError when the registry does not hold the name for us, or somebody has it or may get it */
export async function adoptName(
  { database, clock }: Pick<Context, "database" | "clock">,
  { name, resellerId, registryId, look, expiresAt }: Adoption,
): Promise<{ expires_at: string }> {
  if (look.is !== "held-by-us") throw new OperatorError("refused", `${name} cannot be adopted: ${look.reason}`);
  const { shown, created_at: registeredAt } = look;
  const pending = shown.statuses.find((status) => undecided.includes(status));
  if (pending) throw new OperatorError("refused", `the registry has not decided about ${name} yet (${pending})`);
  if (shown.ex_date !== null && expiresAt) {
    throw new OperatorError("refused", `the registry shows when ${name} expires: leave out --expires`);
  }
  const endsAt = shown.ex_date ?? expiresAt?.toISOString();
  if (registeredAt === null || endsAt === undefined) {
    const missing = registeredAt === null ? "was registered" : "expires: give --expires, from the registry's invoice";
    throw new OperatorError("refused", `the registry does not show when ${name} ${missing}`);
  }
  const [adopted] = await database.query(adopt, {
    name,
    reseller_id: resellerId,
    registry_id: registryId,
    registered_at: registeredAt,
    expires_at: endsAt,
    registry_ex_date: endsAt,
    shown,
    now: clock.now(),
    note: "by the operator",
  });
  if (adopted) return { expires_at: endsAt };
  const [row] = await database.query(isOwned, { name });
  if (row?.is_owned)
    throw new OperatorError("refused", `${name} is in a portfolio: deedhouse operator domains show ${name}`);
  const advice = `deedhouse operator domains show ${name} lists its orders: settle or cancel the open one first`;
  throw new OperatorError("refused", `an order about ${name} is open: ${advice}`);
}
