/** GET /account: who is calling, what the key may do, which limits apply, and which suffixes are served and how. */
import Type, { type Static } from "typebox";
import { statement } from "#db/statement.ts";
import { placedToday } from "#domains/orders/paid-orders.ts";
import { liveOrdersMax } from "#domains/orders/place.ts";
import { presentSuffix, suffixShape } from "#domains/registry/suffixes.ts";
import { instant, textLike } from "#use-case/docs.ts";
import { scopes, type UseCase } from "#use-case/use-case.ts";
import { webhooksMax } from "#webhooks/manage.ts";

// By the key and its account: what is not the caller's has no row here.
const ownAccount = statement(
  "account-of-caller",
  `SELECT account.name, account.kind, account.rate_limit, account.paid_orders_day_max, account.hosting_accounts_max,
     account.hosting_bytes_max, ${placedToday("$now::timestamptz")} AS paid_orders_today,
     key.label, key.expires_at, key.allowed_addresses
   FROM resellers AS account JOIN api_keys AS key ON key.reseller_id = account.id AND key.id = $key_id
     LEFT JOIN paid_orders AS paid ON paid.reseller_id = account.id
   WHERE account.id = $reseller_id` as string,
  {
    name: "text",
    kind: ["reseller", "plain"],
    rate_limit: "int4",
    paid_orders_day_max: "int4",
    hosting_accounts_max: "int4",
    hosting_bytes_max: "int8",
    paid_orders_today: "int4",
    label: "text",
    expires_at: "timestamptz?",
    allowed_addresses: "text[]",
  },
);

const count = (example: number, description: string) => Type.Integer({ minimum: 0, examples: [example], description });

const limitsShape = Type.Object({
  requests_per_minute: count(100, "All keys of the account share it."),
  paid_orders_per_day: count(1_000, "Registrations, renewals on request and restores in a day (UTC)."),
  paid_orders_today: count(3, "How many of them were placed today."),
  open_orders: count(
    liveOrdersMax,
    "Open orders about names that set a value; as many other open orders about names are allowed.",
  ),
  webhooks: count(webhooksMax, "Webhooks of the account."),
  hosting_accounts: count(1_000, "Hosting accounts; 0 if the account can have none."),
  hosting_disk_bytes: count(
    1_000_000_000_000,
    "The disk quotas of all hosting accounts together; 0 if it can have none.",
  ),
});

const accountShape = Type.Object(
  {
    name: Type.String({
      examples: ["acme"],
      description: "What the operator calls your account. No other has this name.",
    }),
    kind: Type.Enum(["reseller", "plain"], { examples: ["reseller"], description: "`plain` has no hosting accounts." }),
    key: Type.Object({
      id: textLike("5f2c9d4e8b7a4c1d9e3f6a0b2c4d6e8f"),
      label: textLike("shop"),
      scopes: Type.Array(Type.Enum([...scopes]), { examples: [["domains:read", "domains:register"]] }),
      expires_at: Type.Union([instant, Type.Null()], { examples: [null] }),
      allowed_addresses: Type.Array(Type.String(), {
        examples: [["192.0.2.0/24"]],
        description: "The addresses and ranges that may use the key; empty: all.",
      }),
    }),
    limits: limitsShape,
    suffixes: Type.Array(suffixShape, { description: "The suffixes under which names can be registered here." }),
  },
  { title: "OwnAccount" },
);

export const readAccount: UseCase = {
  errors: [],
  // Every key may ask who it is.
  scope: scopes,
  docs: {
    operation: "readOwnAccount",
    summary: "Shows your account, the key that signs, your limits, and the suffixes on offer.",
    answers: { 200: { description: "The account of the key.", body: accountShape } },
  },
  async handle({ database, clock, registries }, { caller }) {
    const [own] = await database.point(ownAccount, {
      reseller_id: caller.resellerId,
      key_id: caller.keyId,
      now: clock.now(),
    });
    if (!own) throw new Error("the account of a valid key is missing");
    const hasHosting = own.kind === "reseller";
    const body: Static<typeof accountShape> = {
      name: own.name,
      kind: own.kind,
      key: {
        id: caller.keyId,
        label: own.label,
        scopes: scopes.filter((scope) => caller.scopes.includes(scope)),
        expires_at: own.expires_at?.toISOString() ?? null,
        allowed_addresses: own.allowed_addresses,
      },
      limits: {
        requests_per_minute: own.rate_limit,
        paid_orders_per_day: own.paid_orders_day_max,
        paid_orders_today: own.paid_orders_today,
        open_orders: liveOrdersMax,
        webhooks: webhooksMax,
        hosting_accounts: hasHosting ? own.hosting_accounts_max : 0,
        hosting_disk_bytes: hasHosting ? own.hosting_bytes_max : 0,
      },
      suffixes: registries.flatMap((registry) => registry.suffixes.map((suffix) => presentSuffix(suffix, registry))),
    };
    return { status: 200, body };
  },
};
