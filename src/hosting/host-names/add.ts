import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { canonicalForLookUp, InvalidHostIdentifier, parsePublicHostName } from "#lib/host-identifier.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { UseCase, UseCaseRequest } from "#use-case/use-case.ts";

/** The first check takes at most this long if the name servers answer. */
const checkedAfterSeconds = 2;

// The lock keeps concurrent requests within the limit. An account that is being removed accepts no names.
const lockAccount = statement(
  "host-name-account",
  `SELECT account.id, account.identifier, pack.host_names_max,
     EXISTS (SELECT FROM hosting_nodes WHERE id = account.node_id AND kind = 'cpanel') AS is_on_panel
   FROM hosting_accounts AS account
   JOIN service_packs AS pack ON pack.id = account.servicepack_id AND pack.version = account.servicepack_version
   WHERE account.reseller_id = $reseller_id AND account.identifier = $identifier AND account.status NOT IN ('Failed', 'Removed')
     AND account.removal_requested_at IS NULL
   FOR NO KEY UPDATE OF account`,
  { id: "int8", identifier: "text", host_names_max: "int4", is_on_panel: "bool" },
);

// The account's own identifier does not count.
const factsOf = statement(
  "host-name-room",
  `SELECT
     EXISTS (SELECT FROM domains WHERE domain_name = ANY (names_at_and_above($host_name)) AND reseller_id <> $reseller_id)
       AS is_anothers,
     (SELECT count(*) FROM host_names AS other JOIN hosting_accounts AS account ON account.id = other.account_id
      WHERE other.account_id = $account_id AND other.host_name NOT IN ($host_name, account.identifier))::int4 AS others`,
  { is_anothers: "bool", others: "int4" },
);

// A repetition checks the name as often as a new one.
const addHostName = statement(
  "host-name-add",
  `INSERT INTO host_names AS kept (account_id, host_name, status, created_at, next_check_at)
   VALUES ($account_id, $host_name, 'Waiting', $now, $now)
   ON CONFLICT (account_id, host_name) DO UPDATE SET next_check_at = $now, misses = 0
   RETURNING id`,
  { id: "int8" },
);

const checkNow = statement("host-name-check-now", "SELECT host_names_look(ARRAY[$id::int8])::text AS done", {
  done: "text",
});

/** PUT /hostingaccounts/<identifier>/hosts/<host_name>: adds it, or checks it again at once. 202, also for a repeat. */
export const addHostNameToAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier", "bad_request", "host_name_not_available"],
  scope: "hosting:update",
  docs: {
    operation: "addHostName",
    summary: "Adds a host name to a hosting account, or checks it again at once.",
    description: "The site answers there once you have proven control over the name. The request has no body.",
    answers: {
      202: { description: "It is being checked; `location` is the host name.", headers: ["location", "check-after"] },
    },
  },

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    return context.database.transaction(async (tx) => {
      const [account] = await tx.query(lockAccount, { reseller_id: request.caller.resellerId, identifier });
      if (!account) throw new ApiError("hostingaccount_invalid_identifier");
      const hostName = parseHostName(context, request.params.host_name ?? "");
      await checkRoom(tx, request, account, hostName);
      const values = { account_id: account.id, host_name: hostName, now: context.clock.now() };
      const [added] = await tx.query(addHostName, values);
      await tx.query(checkNow, { id: added?.id ?? null });
      const location = `${request.prefix}/hostingaccounts/${account.identifier}/hosts/${hostName}`;
      const answer = { status: 202, headers: { location, "check-after": checkAfter(checkedAfterSeconds) } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};

/** Names of the service and of its sites are not available. */
function parseHostName({ reservedHosts, siteDomain }: Context, text: string): string {
  try {
    return parsePublicHostName(text, { reservedHosts: [...reservedHosts, siteDomain] });
  } catch (error) {
    if (!(error instanceof InvalidHostIdentifier)) throw error;
    throw invalidField("host_name", error.message);
  }
}

type Account = NonNullable<(typeof lockAccount)["row"]>;

async function checkRoom(tx: Transaction, request: UseCaseRequest, account: Account, hostName: string): Promise<void> {
  if (account.is_on_panel) {
    throw invalidField("host_name", "The account's server has no host names beside the account's own.");
  }
  const values = { account_id: account.id, host_name: hostName, reseller_id: request.caller.resellerId };
  const [facts] = await tx.query(factsOf, values);
  if (!facts) throw new Error("the facts query returned no row");
  if (facts.is_anothers) throw new ApiError("host_name_not_available");
  if (hostName !== account.identifier && facts.others >= account.host_names_max) {
    const text = `The account has ${facts.others} host names, as many as its service pack allows.`;
    throw invalidField("host_name", text);
  }
}
