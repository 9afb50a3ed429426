import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { addressRange, limitOption, pointInTime, printableName, wholeNumber } from "#operator/arguments.ts";
import { asTable, commandGroup, type OperatorOptions, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";
import {
  changePaidOrdersMax,
  createReseller,
  getReseller,
  paidOrdersDayMaxDefault,
  rateLimitDefault,
} from "#resellers/create.ts";
import { changeKeyScopes, createKey, revokeKey, type ScopeChange } from "#resellers/keys.ts";
import { listKeys, listResellers } from "#resellers/list.ts";
import { type Scope, scopes } from "#use-case/use-case.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";

interface AccountOptions {
  kind: "reseller" | "plain";
  rateLimit?: number;
}

interface KeyOptions {
  account: string;
  label: string;
  scope?: Scope[];
  allow?: string[];
  expires?: Date;
}

export function addAccountCommands(program: Command): void {
  const account = commandGroup(program, "account", "the resellers' accounts");
  operatorCommand(account, "create", "create an account")
    .argument("<name>", "its name in these commands", printableName)
    .addOption(
      new Option("--kind <kind>", "only a reseller may create hosting")
        .choices(["reseller", "plain"])
        .default("reseller"),
    )
    .option("--rate-limit <n>", `requests per minute; default ${rateLimitDefault}`, wholeNumber(1, 1_000_000_000))
    .addHelpText("after", "\nExample:\n  deedhouse account create acme --kind reseller")
    .action(
      onDatabase(async (context, name: string, { kind, rateLimit }: AccountOptions) => {
        const id = await createReseller(context, { name, kind, rateLimit });
        return { id, name, kind };
      }),
    );
  operatorCommand(account, "list", "list the accounts, newest first, with the number of their working keys")
    .option("--name <text>", "only accounts whose name contains this text")
    .addOption(limitOption())
    .addHelpText("after", "\nExamples:\n  deedhouse account list\n  deedhouse account list --name acme --json")
    .action(
      onDatabase(
        (context, { name, limit }: { name?: string; limit: number }) =>
          listResellers(context, { nameText: name, limit }),
        asTable("id", "name", "kind", "rate_limit", "orders_per_day", "has_profile", "keys", "created_at"),
      ),
    );
  operatorCommand(account, "limit <name>", "set how many paid orders an account may place")
    .requiredOption(
      "--orders-per-day <n>",
      `registrations, renewals on request and restores in a day (UTC), at first ${paidOrdersDayMaxDefault}; what the schedule renews does not count`,
      wholeNumber(0, 1_000_000_000),
    )
    .addHelpText("after", "\nExample:\n  deedhouse account limit acme --orders-per-day 5000")
    .action(
      onDatabase(async (context, name: string, { ordersPerDay }: { ordersPerDay: number }) => {
        await changePaidOrdersMax(context, await getReseller(context, name), ordersPerDay);
        return { account: name, orders_per_day: ordersPerDay };
      }),
    );
  addProfileCommand(account);
  addKeyCommands(commandGroup(program, "key", "API keys"));
}

function addProfileCommand(account: Command): void {
  operatorCommand(account, "profile <name>", "set the registrant of an account's new names")
    .option("--file <path>", "the profile as JSON, instead of the other options")
    .option("--full-name <text>")
    .option("--organisation <text>")
    .option("--email <address>")
    .option("--phone <number>", "as +49.30123456")
    .option("--street <text>")
    .option("--city <text>")
    .option("--state-or-province <text>")
    .option("--postal-code <text>")
    .option("--country-code <code>", "two letters, upper case")
    .addHelpText(
      "after",
      "\nExample:\n  deedhouse account profile acme --full-name 'Ann Acme' --email ann@acme.example --phone +32.25550100 \\\n    --street 'Main Street 1' --city Brussels --postal-code 1000 --country-code BE",
    )
    .action(
      onDatabase(async (context, name: string, options: OperatorOptions & Record<string, string>) => {
        const { data, json, file, ...fields } = options;
        const { setProfile } = await import("#resellers/profile.ts");
        await setProfile(context, await getReseller(context, name), file === undefined ? fields : readProfile(file));
        return { account: name, profile: "complete" };
      }),
    );
}

function readProfile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`cannot read the profile in ${file}: ${(error as Error).message}`, exitCodes.usage);
  }
}

function addKeyCommands(key: Command): void {
  operatorCommand(key, "create", "create an API key; its secret is shown once")
    .requiredOption("--account <name>", "the account that gets the key")
    .option("--label <text>", "a label for the key", printableName, "key")
    .addOption(
      new Option(
        "--scope <scope...>",
        "what the key may do; default: everything except domains:delete and domains:transfer",
      ).choices(scopes),
    )
    .option("--allow <address...>", "addresses or ranges that may use the key; default: any", addressRange)
    .option("--expires <date>", "when the key expires, as 2027-01-31 or a full timestamp", pointInTime)
    .addHelpText("after", "\nExample:\n  deedhouse key create --account sandbox --label laptop")
    .action(
      onDatabase(async (context, { account, label, scope, allow, expires }: KeyOptions) => {
        const resellerId = await getReseller(context, account);
        const wanted = { label, scopes: scope, allowedAddresses: allow, expiresAt: expires };
        const { id, secret } = await createKey(context, resellerId, wanted);
        return { account, api_key: id, api_secret: secret.reveal() };
      }),
    );
  addKeyListCommand(key);
  addKeyScopesCommand(key);
  operatorCommand(key, "revoke <key>", "revoke a key; within a second it is refused everywhere")
    .addHelpText("after", "\nExample:\n  deedhouse key revoke 0a1b2c3d4e5f60718293a4b5c6d7e8f9")
    .action(
      onDatabase(async (context, keyId: string) => {
        if (!(await revokeKey(context, keyId))) {
          throw new OperatorError(
            "not-found",
            `no working key has the id ${keyId}, so there is nothing to revoke: deedhouse key list lists the working keys`,
          );
        }
        return { api_key: keyId, status: "revoked" };
      }),
    );
}

function addKeyScopesCommand(key: Command): void {
  const scopeOption = (flags: string, text: string) => new Option(flags, text).choices(scopes).default([], "none");
  operatorCommand(key, "scopes <key>", "change what a key may do; it counts from the next request on")
    .addOption(scopeOption("--add <scope...>", "what it may do from now on"))
    .addOption(scopeOption("--remove <scope...>", "what it may no longer do"))
    .addHelpText("after", "\nExample:\n  deedhouse key scopes 0a1b2c3d4e5f60718293a4b5c6d7e8f9 --add domains:transfer")
    .action(
      onDatabase(async (context, keyId: string, { add, remove }: ScopeChange) => {
        if (add.length + remove.length === 0) {
          throw new CommandFailure("give --add or --remove, each with the scopes to change", exitCodes.usage);
        }
        const both = add.find((scope) => remove.includes(scope));
        if (both !== undefined) throw new CommandFailure(`${both} is both added and removed`, exitCodes.usage);
        const now = await changeKeyScopes(context, keyId, { add, remove });
        if (now) return { api_key: keyId, scopes: now };
        throw new OperatorError(
          "not-found",
          `no working key has the id ${keyId}, so nothing was changed: deedhouse key list lists the working keys`,
        );
      }),
    );
}

interface KeyListOptions {
  account?: string;
  all?: boolean;
  limit: number;
}

function addKeyListCommand(key: Command): void {
  operatorCommand(key, "list", "list the working keys, newest first; secrets are not shown again")
    .option("--account <name>", "only this account's")
    .option("--all", "include revoked and expired keys")
    .addOption(limitOption())
    .addHelpText("after", "\nExamples:\n  deedhouse key list --account acme\n  deedhouse key list --all --json")
    .action(
      onDatabase(
        async (context, { account, all = false, limit }: KeyListOptions) => {
          const resellerId = account === undefined ? undefined : await getReseller(context, account);
          return listKeys(context, { resellerId, all, limit });
        },
        asTable("api_key", "account", "label", "created_at", "expires_at", "revoked_at", "allowed_addresses", "scopes"),
      ),
    );
}
