/** Hosting accounts as /v2 shows and orders them. */
import Type, { type Static } from "typebox";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { type AccountOrderForm, accountCreator } from "#hosting/accounts/create.ts";
import { passwordField } from "#hosting/accounts/password.ts";
import { type AccountRow, accountColumnNames, accountColumns } from "#hosting/accounts/present.ts";
import { type AccountDetails, accountsLister, findAccountById, listedAccounts } from "#hosting/accounts/read.ts";
import { packsLister } from "#hosting/packs/list.ts";
import { canonicalForLookUp } from "#lib/host-identifier.ts";
import { parseBody } from "#use-case/body.ts";
import { checkedByHand, pageOf, pagingQuery, textLike } from "#use-case/docs.ts";
import { answerFewRows } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

const number = (example: number) => Type.Integer({ minimum: 1, examples: [example] });
const packShape = Type.Object({ id: number(14_490), name: textLike("Small") }, { title: "ServicePackV2" });

/** GET /v2/servicepacks: ids are the same as those of /v1, as numbers. */
export const listServicePacks = packsLister(packShape, ({ id, name }) => ({ id, name }));

const accountShape = Type.Object(
  { id: number(999_001), identifier: textLike("hello.example"), servicepack_id: number(14_490) },
  { title: "AccountV2" },
);
const present = ({ id, identifier, servicepack_id }: AccountRow): Static<typeof accountShape> => ({
  id: id!,
  identifier: identifier!,
  servicepack_id: servicepack_id!,
});
const everyAccount = accountsLister("listAccounts", "/accounts", accountShape, (_, row) => present(row));

const listedByIdentifier = statement(
  "hosting-listed-by-identifier",
  `SELECT ${accountColumnNames} ${listedAccounts}
     AND reseller_id = $reseller_id AND identifier = $identifier`,
  accountColumns,
);

/** What an account can be for; only the first has accounts here. */
const assetTypes = ["linux_hosting", "domain"];

/** GET /v2/accounts: the caller's hosting accounts, by identifier, paged. */
export const listAccounts: UseCase = {
  errors: [...everyAccount.errors, "bad_request"],
  scope: everyAccount.scope,
  docs: {
    operation: "listAccounts",
    summary: "Lists your hosting accounts by identifier, without failed ones.",
    query: Type.Object({
      identifier: Type.Optional(textLike("hello.example")),
      asset_type: Type.Optional(Type.Enum(assetTypes, { description: "All accounts are of the first kind." })),
      ...pagingQuery,
    }),
    answers: { 200: pageOf(accountShape) },
  },

  async handle(context, request) {
    const assetType = readOnce(request.query, "asset_type");
    if (assetType !== undefined && !assetTypes.includes(assetType)) {
      throw invalidField("asset_type", `Name one of ${assetTypes.join(", ")}.`);
    }
    const identifier = readOnce(request.query, "identifier");
    if (identifier === undefined && assetType !== "domain") return everyAccount.handle(context, request);
    const values = { reseller_id: request.caller.resellerId, identifier: canonicalForLookUp(identifier ?? "") };
    const rows = assetType === "domain" ? [] : await context.database.point(listedByIdentifier, values);
    const asked = Object.entries({ asset_type: assetType, identifier }).filter(([, value]) => value !== undefined);
    const filter = new URLSearchParams(asked as [string, string][]).toString();
    return answerFewRows(context, request, rows, { path: "/accounts", filter }, present);
  },
};

/** @throws ApiError when a parameter is repeated */
function readOnce(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw invalidField(name, "Name it once.");
  return values[0];
}

const accountIdPattern = /^[1-9][0-9]{0,14}$/;

const detailsShape = Type.Object(
  {
    id: number(999_001),
    identifier: textLike("hello.example"),
    servicepack: Type.Object({ id: number(14_490), name: textLike("Small") }),
    addons: Type.Array(Type.Unknown(), { maxItems: 0, examples: [[]] }),
  },
  { title: "AccountInFullV2" },
);

/** GET /v2/accounts/<id> */
export const readAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",
  docs: {
    operation: "readAccount",
    summary: "Reads a hosting account by its number.",
    answers: { 200: { description: "The account.", body: detailsShape } },
  },

  async handle(context, request) {
    const id = request.params.account_id ?? "";
    const [account] = accountIdPattern.test(id) ? await findAccountById(context, request, Number(id)) : [];
    if (!account || account.status === "Removed") throw new ApiError("hostingaccount_invalid_identifier");
    return { status: 200, body: presentInFull(account) };
  },
};

const presentInFull = (account: AccountDetails): Static<typeof detailsShape> => ({
  id: account.id,
  identifier: account.identifier,
  servicepack: { id: account.servicepack_id, name: account.servicepack_name! },
  addons: [],
});

const requestBody = Type.Object({
  servicepack_id: checkedByHand(
    Type.Union([Type.Integer(), Type.String()], { description: "A text has digits only.", examples: [14_490] }),
  ),
  identifier: Type.String({ description: "A host name; usually the FTP user name.", examples: ["hello.example"] }),
  ftp_password: Type.Optional(passwordField),
});

const form: AccountOrderForm = {
  body: requestBody,
  passwordField: "ftp_password",
  parse(rawBody) {
    const { servicepack_id: packId, identifier, ftp_password } = parseBody(requestBody, rawBody);
    if (typeof packId !== "string" && !Number.isSafeInteger(packId)) {
      throw invalidField("servicepack_id", "Give a whole number, or a string of digits.");
    }
    return { packId: String(packId), identifier, password: ftp_password ?? undefined };
  },
};

/** POST /v2/accounts */
export const createAccount = accountCreator(form);
