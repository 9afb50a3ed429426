import { type Command, InvalidArgumentError } from "commander";
import {
  createPack,
  listPackVersions,
  offerPack,
  type PackTerms,
  retirePack,
  revisePack,
} from "#hosting/packs/manage.ts";
import { printableName, wholeNumber } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { getReseller } from "#resellers/create.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

const megabyte = 1_000_000;
const diskMbMax = 1_000_000_000;
const trafficMbMax = 1_000_000_000;
const filesMost = 100_000_000;
const ftpSessionsMost = 1_000;
const hostNamesMost = 1_000;

interface TermOptions {
  diskMb?: number;
  files?: number;
  ftpSessions?: number;
  trafficMb?: number;
  hostNames?: number;
  feature?: string[];
  nodeTag?: string[];
  ftp?: boolean;
}

interface CreateOptions extends TermOptions {
  diskMb: number;
  offerTo?: string[];
}

export function addPackCommands(program: Command): void {
  const packs = commandGroup(program, "packs", "service packs");
  addCreateCommand(packs);
  addReviseCommand(packs);
  addOfferCommand(packs);
  operatorCommand(packs, "retire", "stop offering a service pack; accounts that have it keep it")
    .argument("<id>", "its number", packId)
    .addHelpText("after", "\nExample:\n  deedhouse operator packs retire 14490")
    .action(
      onDatabase(async (context, id: number) => {
        await retirePack(context, id);
        return { id: String(id), status: "retired" };
      }),
    );
  operatorCommand(packs, "versions", "list the offered packs, their buyers, and the number of their accounts")
    .option("--all", "include versions that are no longer offered")
    .addHelpText("after", "\nExample:\n  deedhouse operator packs versions --all")
    .action(
      onDatabase(
        async (context, { all = false }: { all?: boolean }) => listPackVersions(context, { all }),
        asTable(
          "id",
          "version",
          "name",
          "status",
          "accounts",
          "disk_quota_bytes",
          "files_max",
          "ftp_sessions_max",
          "traffic_bytes_month",
          "host_names_max",
          "features",
          "node_tags",
          "offered_to",
        ),
      ),
    );
}

function packId(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number such as 14490.");
}

/** `php`, `ssd`; each use of the option adds one. */
function label(text: string, others: readonly string[] = []): string[] {
  if (/^[a-z0-9][a-z0-9._-]{0,62}$/.test(text)) return [...new Set([...others, text])];
  throw new InvalidArgumentError("It must be lower-case letters, digits, dots and hyphens, such as ssd.");
}

function addTermOptions(command: Command): Command {
  return command
    .option("--files <n>", "the maximum number of files and folders", wholeNumber(1, filesMost))
    .option("--ftp-sessions <n>", "the maximum number of concurrent FTP sessions", wholeNumber(1, ftpSessionsMost))
    .option("--traffic-mb <n>", "the traffic of a site in a month; 0: unlimited", wholeNumber(0, trafficMbMax))
    .option(
      "--host-names <n>",
      "the maximum number of host names, not counting the platform's",
      wholeNumber(0, hostNamesMost),
    )
    .option("--no-ftp", "without FTP login")
    .option("--feature <label...>", "a label for resellers", label)
    .option("--node-tag <tag...>", "place its accounts only on nodes with all of these tags", label);
}

function termsOf(options: TermOptions): Partial<PackTerms> {
  const { diskMb, files, ftpSessions, trafficMb, hostNames, feature, nodeTag, ftp } = options;
  return {
    ...(diskMb !== undefined && { diskBytesMax: diskMb * megabyte }),
    ...(files !== undefined && { filesMax: files }),
    ...(ftpSessions !== undefined && { ftpSessionsMax: ftpSessions }),
    ...(trafficMb !== undefined && { trafficBytesMonth: trafficMb * megabyte }),
    ...(hostNames !== undefined && { hostNamesMax: hostNames }),
    ...((feature || ftp === false) && { features: [...(ftp === false ? [] : ["ftp"]), ...(feature ?? [])] }),
    ...(nodeTag && { nodeTags: nodeTag }),
  };
}

function resellerIds(context: OpenOperatorContext, accounts: readonly string[]): Promise<number[]> {
  return Promise.all(accounts.map((account) => getReseller(context, account)));
}

function addCreateCommand(packs: Command): void {
  const create = operatorCommand(packs, "create", "offer a new service pack")
    .argument("<name>", "the name for resellers", printableName)
    .requiredOption("--disk-mb <n>", "disk quota", wholeNumber(1, diskMbMax));
  addTermOptions(create)
    .option("--offer-to <account...>", "only to these accounts; default: to all")
    .addHelpText("after", "\nExample:\n  deedhouse operator packs create Starter --disk-mb 500 --traffic-mb 50000")
    .action(
      onDatabase(async (context, name: string, options: CreateOptions) => {
        const offeredTo = options.offerTo && (await resellerIds(context, options.offerTo));
        const defaults = { name, diskBytesMax: options.diskMb * megabyte, filesMax: 50_000, ftpSessionsMax: 8 };
        return { id: await createPack(context, { ...defaults, ...termsOf(options), offeredTo }), name, version: 1 };
      }),
    );
}

function addReviseCommand(packs: Command): void {
  const revise = operatorCommand(packs, "revise", "offer a pack's next version; accounts keep their version")
    .argument("<id>", "its number", packId)
    .option("--name <text>", "the name for resellers", printableName)
    .option("--disk-mb <n>", "disk quota", wholeNumber(1, diskMbMax));
  addTermOptions(revise)
    .addHelpText(
      "after",
      "\nTerms that are left out stay the same. To give an account the new version: deedhouse operator hosting pack" +
        "\n\nExample:\n  deedhouse operator packs revise 14490 --disk-mb 1000",
    )
    .action(
      onDatabase(async (context, id: number, { name, ...options }: TermOptions & { name?: string }) => {
        const changes = { ...termsOf(options), ...(name !== undefined && { name }) };
        if (Object.keys(changes).length === 0)
          throw new CommandFailure("give at least one term to change", exitCodes.usage);
        return { id: String(id), version: await revisePack(context, id, changes) };
      }),
    );
}

function addOfferCommand(packs: Command): void {
  operatorCommand(packs, "offer", "set who can buy a service pack")
    .argument("<id>", "its number", packId)
    .option("--to <account...>", "only these accounts")
    .option("--to-all", "all accounts")
    .addHelpText("after", "\nExample:\n  deedhouse operator packs offer 14490 --to acme")
    .action(
      onDatabase(async (context, id: number, { to, toAll = false }: { to?: string[]; toAll?: boolean }) => {
        if ((to !== undefined) === toAll) throw new CommandFailure("give either --to or --to-all", exitCodes.usage);
        await offerPack(context, id, to && (await resellerIds(context, to)));
        return { id: String(id), offered_to: to ?? "everybody" };
      }),
    );
}
