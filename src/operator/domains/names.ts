/** `deedhouse operator domains show`, `sync` and `adopt`: one name, here and at its registry. */
import type { Command } from "commander";
import { adoptName } from "#domains/compare/adopt.ts";
import { findRegistryOf, reportName } from "#domains/compare/report.ts";
import { parseDomainName } from "#lib/domain-name.ts";
import { pointInTime } from "#operator/arguments.ts";
import { commandGroup, onDatabase, operatorCommand, type Printable } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { askOwner, type OwnersAnswer, requireOwner } from "#operator/domains/ask.ts";
import { addTimeoutOption } from "#operator/wait-for.ts";
import { OperatorError } from "#operator-error.ts";
import { getReseller } from "#resellers/create.ts";
import { confirm } from "../../../client/cli/confirm.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";
import { print, printFields, printTable } from "../../../client/cli/output.ts";

/** These share the group with the reseller's own commands, and use other names. */
export function addDomainNameCommands(program: Command): void {
  const domains = commandGroup(program, "domains", "domain names of all accounts");
  const show = operatorCommand(domains, "show <name>", "show a name here and at its registry, with its orders")
    .option("--here", "do not ask the registry")
    .addHelpText("after", "\nNothing is changed.\n\nExample:\n  deedhouse operator domains show hello.example");
  addTimeoutOption(show, "for the registry").action(
    onDatabase((context, name: string, options: ShowOptions) => showName(context, name, options), printName),
  );
  const sync = operatorCommand(
    domains,
    "sync <name>",
    "ask the registry for a name now, and take over what it shows",
  ).addHelpText(
    "after",
    "\nOnly this database changes, never the registry. A difference is recorded in the name's history, and raises an" +
      "\nalarm if we had set the value. A name that seems gone leaves its portfolio after a second look, a day later." +
      "\n\nExample:\n  deedhouse operator domains sync hello.example",
  );
  addTimeoutOption(sync, "for the registry").action(
    onDatabase(
      (context, name: string, { timeout }: { timeout: number }) => syncName(context, parseDomainName(name), timeout),
      ({ differences, ...fields }) => {
        printFields(fields);
        if (differences && differences.length > 0) print("");
        printTable(differences ?? [], ["field", "here", "registry"]);
      },
    ),
  );
  addAdoptCommand(domains);
}

interface ShowOptions {
  here?: boolean;
  timeout: number;
}

async function showName(
  context: OpenOperatorContext,
  text: string,
  { here: isHereOnly = false, timeout }: ShowOptions,
) {
  const name = parseDomainName(text);
  const { here, departure, orders, history } = await reportName(context, name);
  const registryId = here?.registry ?? departure?.registry ?? null;
  const asked = isHereOnly ? { not_asked: "as requested" } : await askOrSayWhy(context, registryId, name, timeout);
  if (!here && !departure && orders.length === 0 && asked.is === undefined) {
    throw new OperatorError("not-found", `nothing is known about ${name}: ${asked.not_asked}`);
  }
  return {
    domain_name: name,
    here: here ?? "in no portfolio",
    ...(departure && { departure }),
    registry: asked,
    orders,
    history,
  };
}

type Word = { not_asked: string; is?: undefined } | ReturnType<typeof presentAnswer>;

/** What is known here helps even while the registry is away. */
async function askOrSayWhy(
  context: OpenOperatorContext,
  registryId: string | null,
  name: string,
  timeout: number,
): Promise<Word> {
  try {
    await requireOwner(context, registryId);
    const question = { registryId, name, takesOver: false, isPaced: false };
    return presentAnswer(await askOwner(context, question, timeout));
  } catch (error) {
    if (error instanceof CommandFailure || error instanceof OperatorError) return { not_asked: error.message };
    throw error;
  }
}

function presentAnswer(answer: OwnersAnswer) {
  if (answer.is !== "held-by-us") {
    const { registry, is, reason } = answer;
    return { id: registry, is, reason };
  }
  const { registry, is, shown, created_at, differences } = answer;
  const compared = differences.map(({ field, here, registry: there }) => ({ field, here, registry: there }));
  return { id: registry, is, created_at, ...shown, differences: compared };
}

function printName({ orders, history, registry, ...rest }: Printable<Awaited<ReturnType<typeof showName>>>): void {
  const { differences, ...word } = "differences" in registry ? registry : { ...registry, differences: undefined };
  printFields({ ...rest, registry: word });
  for (const [rows, columns] of [
    [differences ?? [], ["field", "here", "registry"]],
    [orders, ["order_code", "kind", "status", "phase", "created_at", "ended_at", "reason"]],
    [history, ["at", "event", "note"]],
  ] as const) {
    if (rows.length > 0) print("");
    printTable(rows, columns);
  }
}

async function syncName(context: OpenOperatorContext, name: string, timeout: number) {
  const registryId = await findRegistryOf(context, name);
  if (registryId === undefined) {
    throw new OperatorError("not-found", `no portfolio has ${name}: deedhouse operator domains show ${name}`);
  }
  await requireOwner(context, registryId);
  const answer = await askOwner(context, { registryId, name, takesOver: true, isPaced: false }, timeout);
  switch (answer.is) {
    case "unknown":
      throw new CommandFailure(`${registryId} could not be asked: ${answer.reason}`, exitCodes.unavailable);
    case "held-back":
      throw new OperatorError("refused", `${answer.reason}: try again after it`);
    case "held-by-us": {
      const differences = answer.differences.map(({ field, here, registry }) => ({ field, here, registry }));
      return { domain_name: name, status: differences.length > 0 ? "taken over" : "unchanged", differences };
    }
    default: {
      const status = answer.departure === "left" ? "has left the portfolio" : "seems gone: looked at again in a day";
      return { domain_name: name, status, reason: answer.reason, differences: undefined };
    }
  }
}

interface AdoptOptions {
  account: string;
  expires?: Date;
  yes?: boolean;
  timeout: number;
}

function addAdoptCommand(domains: Command): void {
  const adopt = operatorCommand(
    domains,
    "adopt <name>",
    "give an account a name that the registry holds for us and no account has",
  )
    .requiredOption("--account <account>", "the account that gets it")
    .option("--expires <time>", "the end of its term, for a registry that does not show it", pointInTime)
    .option("--yes", "do not ask for confirmation")
    .addHelpText(
      "after",
      "\nThe registry must show that it holds the name for us, no portfolio may have it, and no order about it may be open." +
        "\nThe name is renewed before its term ends unless the account, or deedhouse renewals switch, says otherwise." +
        "\n\nExample:\n  deedhouse operator domains adopt found.example --account acme",
    );
  addTimeoutOption(adopt, "for the registry").action(
    onDatabase(async (context, text: string, { account, expires, yes = false, timeout }: AdoptOptions) => {
      const name = parseDomainName(text);
      const resellerId = await getReseller(context, account);
      await requireOwner(context, null);
      const question = { registryId: null, name, takesOver: false, isPaced: false };
      const look = await askOwner(context, question, timeout);
      if (!yes) await confirm(`Give ${name} to ${account}, who will pay for its renewals?`);
      const { registry: registryId } = look;
      const { expires_at } = await adoptName(context, { name, resellerId, registryId, look, expiresAt: expires });
      return { domain_name: name, account, registry: registryId, expiration_date: expires_at };
    }),
  );
}
