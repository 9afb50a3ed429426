import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { type RowOf, statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { proofLabel, proofText } from "#hosting/host-names/dns.ts";
import { hostNameStatuses } from "#hosting/host-names/states.ts";
import { canonicalForLookUp } from "#lib/host-identifier.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { instant, textLike } from "#use-case/docs.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** SQL: live accounts with their host names; one row without a name for an account that has none. */
const hostNames = `SELECT host_name, proof, host.status, proven_by, reason, host.created_at, checked_at, next_check_at
   FROM hosting_accounts AS account LEFT JOIN host_names AS host ON host.account_id = account.id
   WHERE account.status NOT IN ('Failed', 'Removed')`;

const columns = {
  host_name: "text?",
  proof: "text?",
  status: [...hostNameStatuses, null],
  proven_by: "text?",
  reason: "text?",
  created_at: "timestamptz?",
  checked_at: "timestamptz?",
  next_check_at: "timestamptz?",
} as const;

const hostNamesOfCallersAccount = statement(
  "host-names-of-callers-account",
  `${hostNames} AND account.reseller_id = $reseller_id AND account.identifier = $identifier ORDER BY host_name`,
  columns,
);
const hostNamesOfAnyAccount = statement(
  "operator-host-names",
  `${hostNames} AND account.identifier = $identifier ORDER BY host_name`,
  columns,
);

const hostNameShape = Type.Object(
  {
    host_name: textLike("www.hello.example"),
    status: Type.Enum(hostNameStatuses),
    record: Type.Object(
      {
        name: textLike("_deedhouse.www.hello.example"),
        type: Type.Literal("TXT"),
        value: textLike("deedhouse-site=0f3c5a7e91b24d6880aabbccddeeff00"),
      },
      { description: "The DNS record that proves the name." },
    ),
    proven_by: Type.Optional(Type.Enum(["dns", "portfolio", "identifier"])),
    reason: Type.Optional(Type.String({ description: "Why it is not proven. For people." })),
    created_at: instant,
    checked_at: Type.Optional(instant),
    next_check_at: Type.Optional(instant),
  },
  { title: "HostName" },
);
type HostName = Static<typeof hostNameShape>;

/** The public form of a host name. @param row of a host name */
function presentHostName(row: RowOf<typeof columns>): HostName {
  return {
    host_name: row.host_name!,
    status: row.status!,
    record: { name: `${proofLabel}.${row.host_name}`, type: "TXT", value: proofText(row.proof ?? "") },
    ...(row.proven_by !== null && { proven_by: row.proven_by as NonNullable<HostName["proven_by"]> }),
    ...(row.reason !== null && { reason: row.reason }),
    created_at: row.created_at!.toISOString(),
    ...(row.checked_at && { checked_at: row.checked_at.toISOString() }),
    ...(row.next_check_at && { next_check_at: row.next_check_at.toISOString() }),
  };
}

/** @throws ApiError `hostingaccount_invalid_identifier` */
async function readHostNames({ database }: Context, resellerId: number, identifierText = "") {
  const identifier = canonicalForLookUp(identifierText);
  const rows = await database.point(hostNamesOfCallersAccount, { reseller_id: resellerId, identifier });
  if (rows.length === 0) throw new ApiError("hostingaccount_invalid_identifier");
  return rows.filter((row) => row.host_name !== null);
}

/** GET /hostingaccounts/<identifier>/hosts: the account's host names in byte order. No paging: a pack limits them. */
export const listHostNames: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",
  docs: {
    operation: "listHostNames",
    summary: "Lists the host names of a hosting account by name.",
    answers: { 200: { description: "All of them: the list has no pages.", body: Type.Array(hostNameShape) } },
  },

  async handle(context, { caller, params }) {
    const rows = await readHostNames(context, caller.resellerId, params.identifier);
    return { status: 200, body: rows.map(presentHostName) };
  },
};

/** GET /hostingaccounts/<identifier>/hosts/<host_name>: the record to set, and its last check. */
export const readHostName: UseCase = {
  errors: ["hostingaccount_invalid_identifier", "host_name_not_found"],
  scope: "hosting:read",
  docs: {
    operation: "readHostName",
    summary: "Reads a host name: the record to set, and its last check.",
    answers: { 200: { description: "The host name.", body: hostNameShape, headers: ["check-after?"] } },
  },

  async handle(context, { caller, params }) {
    const rows = await readHostNames(context, caller.resellerId, params.identifier);
    const hostName = canonicalForLookUp(params.host_name ?? "");
    const row = rows.find(({ host_name }) => host_name === hostName);
    if (!row) throw new ApiError("host_name_not_found");
    const nextCheckMs = row.status === "Waiting" ? row.next_check_at?.getTime() : undefined;
    // A check that is due is in progress.
    const waitMs = nextCheckMs && Math.max(1_000, nextCheckMs - context.clock.now().getTime());
    return {
      status: 200,
      ...(waitMs && { headers: { "check-after": checkAfter(waitMs / 1000) } }),
      body: presentHostName(row),
    };
  },
};

/** For operators. @returns nothing when no live account has the identifier */
export async function reportHostNames({ database }: Pick<Context, "database">, identifier: string) {
  const rows = await database.query(hostNamesOfAnyAccount, { identifier: canonicalForLookUp(identifier) });
  if (rows.length === 0) return undefined;
  return rows
    .filter((row) => row.host_name !== null)
    .map(presentHostName)
    .map(({ record, ...shown }) => ({ ...shown, record: record.name, value: record.value }));
}
