import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { commandGroup, type OperatorOptions, operatorCommand, print } from "#operator/commands.ts";
import { openOperatorContext } from "#operator/context.ts";
import { wholeNumber } from "#operator/numbers.ts";
import { createReseller, getReseller } from "#resellers/create.ts";
import { createKey, revokeKey } from "#resellers/keys.ts";
import { setProfile } from "#resellers/profile.ts";

interface KeyOptions extends OperatorOptions {
  account: string;
  label: string;
  scope?: string[];
  allow?: string[];
  expires?: string;
}

export function addAccountCommands(program: Command): void {
  const account = commandGroup(program, "account", "the resellers' accounts");
  operatorCommand(account, "create <name>", "make an account")
    .addOption(
      new Option("--kind <kind>", "only a reseller may create hosting")
        .choices(["reseller", "plain"])
        .default("reseller"),
    )
    .option("--rate-limit <n>", "requests per minute", wholeNumber(1, 1_000_000_000))
    .addHelpText("after", "\nExample:\n  deedhouse account create acme --kind reseller")
    .action(async (name: string, options: OperatorOptions & { kind: "reseller" | "plain"; rateLimit?: number }) => {
      await using context = openOperatorContext(options.data);
      const id = await createReseller(context, { name, kind: options.kind, rateLimit: options.rateLimit });
      print(options, { id, name, kind: options.kind });
    });
  addProfileCommand(account);
  addKeyCommands(commandGroup(program, "key", "API keys"));
}

function addProfileCommand(account: Command): void {
  operatorCommand(account, "profile <name>", "set who an account's names are registered for")
    .option("--file <path>", "the profile as JSON; with it, the other options are not needed")
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
    .action(async (name: string, options: OperatorOptions & Record<string, string>) => {
      const { data, json, file, ...fields } = options;
      const profile: unknown = file === undefined ? fields : JSON.parse(readFileSync(file, "utf8"));
      await using context = openOperatorContext(data);
      await setProfile(context, await getReseller(context, name), profile);
      print({ data, json: Boolean(json) }, { account: name, profile: "complete" });
    });
}

function addKeyCommands(key: Command): void {
  operatorCommand(key, "create", "make an API key; its secret is shown once")
    .requiredOption("--account <name>", "whose key it is")
    .option("--label <text>", "to tell keys apart", "key")
    .option("--scope <scope...>", "what it may do; all of it when left out")
    .option("--allow <address...>", "addresses or ranges that it may be used from")
    .option("--expires <date>", "when it stops working, as 2027-01-31 or a full timestamp")
    .addHelpText("after", "\nExample:\n  deedhouse key create --account sandbox --label laptop")
    .action(async (options: KeyOptions) => {
      await using context = openOperatorContext(options.data);
      const expiresAt = options.expires === undefined ? undefined : new Date(options.expires);
      if (expiresAt && Number.isNaN(expiresAt.getTime()))
        throw new Error(`--expires: "${options.expires}" is not a date`);
      const made = await createKey(context, await getReseller(context, options.account), {
        label: options.label,
        scopes: options.scope,
        allowedAddresses: options.allow,
        expiresAt,
      });
      print(options, { account: options.account, api_key: made.id, api_secret: made.secret.reveal() });
    });
  operatorCommand(key, "revoke <key>", "stop a key; within a second nothing accepts it any more")
    .addHelpText("after", "\nExample:\n  deedhouse key revoke 0a1b2c3d4e5f60718293a4b5c6d7e8f9")
    .action(async (keyId: string, options: OperatorOptions) => {
      await using context = openOperatorContext(options.data);
      if (!(await revokeKey(context, keyId))) throw new Error(`no key ${keyId} works: nothing to revoke`);
      print(options, { api_key: keyId, status: "revoked" });
    });
}
