import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { continueAfterRestore } from "#hosting/channel/restore.ts";
import { type NodeKind, nodeKinds, registerNode } from "#hosting/nodes.ts";
import { getNode, listNodes, removeNode, setNode } from "#hosting/nodes-manage.ts";
import { wakeUnplaced } from "#hosting/place.ts";
import { askReconcile, findResult } from "#hosting/reconcile.ts";
import { endpoint, wholeNumber } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { type PanelOptions, panelSettings } from "#operator/panel-settings.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { OperatorError } from "#resellers/operator-error.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";
import { printFields, printTable } from "../../client/cli/output.ts";

const gigabyte = 1_000_000_000;
const capacityGbMax = 1_000_000;
const accountsMost = 1_000_000;
const accountsMaxDefault = 10_000;

interface Place {
  host: string;
  port: number;
}

interface RoomOptions {
  capacityGb?: number;
  accountsMax?: number;
  tag?: string[];
}

interface PlaceOptions {
  ftp?: Place;
  web?: Place;
  https?: boolean;
}

interface AddOptions extends Required<Pick<RoomOptions, "capacityGb" | "accountsMax">>, PlaceOptions, PanelOptions {
  kind: NodeKind;
  tag?: string[];
  ftp: Place;
  web: Place;
  controlUrl?: string;
  controlTokenFile?: string;
}

export function addNodeCommands(program: Command): void {
  const nodes = commandGroup(program, "node", "hosting nodes: the machines that accounts are on").addHelpText(
    "after",
    "\nWithout a command: run an embedded hosting node alone; configured by environment variables (src/config.ts)" +
      "\nWith --agent: run the agent of a node of ProFTPD and nginx; has its own --help",
  );
  addAddCommand(nodes);
  addListCommands(nodes);
  addSetCommands(nodes);
  addMachineCommands(nodes);
  operatorCommand(nodes, "remove <id>", "forget a hosting node that holds no accounts; the machine is left as it is")
    .addHelpText("after", "\nExample:\n  deedhouse node remove web-7")
    .action(
      onDatabase(async (context, id: string) => {
        await removeNode(context, id);
        return { node: id, status: "removed" };
      }),
    );
}

function nodeId(text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError("It must be 1 to 32 lower-case letters, digits and hyphens, such as web-7.");
}

function tag(text: string, others: readonly string[] = []): string[] {
  if (/^[a-z0-9][a-z0-9._-]{0,62}$/.test(text)) return [...new Set([...others, text])];
  throw new InvalidArgumentError("It must be lower-case letters, digits, dots and hyphens, such as ssd.");
}

function addAddCommand(nodes: Command): void {
  operatorCommand(nodes, "add", "let accounts be placed on one more hosting node")
    .argument("<id>", "its name, for good", nodeId)
    .addOption(new Option("--kind <kind>", "what runs on it").choices(nodeKinds).default("proftpd-nginx"))
    .requiredOption("--capacity-gb <n>", "disk quotas that may be given away on it", wholeNumber(0, capacityGbMax))
    .option("--accounts-max <n>", "accounts at the most", wholeNumber(0, accountsMost), accountsMaxDefault)
    .option("--tag <tag>", "what packs may ask for; can be repeated", tag)
    .requiredOption("--ftp <host:port>", "where customers find its FTP server", endpoint)
    .requiredOption("--web <host:port>", "where its web server answers", endpoint)
    .option("--https", "the web server answers with TLS there")
    .option("--control-url <url>", "embedded: its control port, such as http://127.0.0.1:7481")
    .option("--control-token-file <path>", "embedded: the file that holds the control port's token")
    .option("--panel-url <url>", "cpanel: its WHM, such as https://panel.example.net:2087")
    .option("--panel-user <user>", "cpanel: the user of WHM whom the token belongs to")
    .option("--panel-token-file <path>", "cpanel: the file that holds an API token of WHM")
    .option("--panel-mail-domain <domain>", "cpanel: of the contact addresses by which our accounts are known again")
    .option("--panel-package <name>", "cpanel: the package of new accounts; the panel's default without it")
    .option("--panel-ca-file <path>", "cpanel: PEM, who has signed its certificates, if no public authority has")
    .option("--panel-installation <name>", "cpanel: for a panel that was added before, what was said then")
    .addHelpText(
      "after",
      "\nExamples:" +
        "\n  deedhouse node add web-7 --capacity-gb 2000 --tag ssd --ftp ftp7.example.net:21 --web web7.example.net:80" +
        "\n  deedhouse node add small --kind embedded --capacity-gb 50 --ftp 192.0.2.7:7421 --web 192.0.2.7:7480 \\" +
        "\n      --control-url http://127.0.0.1:7481 --control-token-file /etc/deedhouse/control.token",
    )
    .action(
      onDatabase(async (context, id: string, options: AddOptions) => {
        const { kind, capacityGb, accountsMax, tag: tags = [], ftp, web, https: isHttps = false } = options;
        const settings = settingsOf(context, options);
        const room = { capacityBytes: capacityGb * gigabyte, accountsMax, tags };
        if (!(await registerNode(context, { id, kind, ftp, web: { ...web, isHttps }, settings }, room, false))) {
          const advice = "deedhouse node set changes it, another id adds another";
          throw new OperatorError("refused", `there is a hosting node ${id} already: ${advice}`);
        }
        await wakeUnplaced(context.database);
        const { installation } = settings;
        return {
          ...{ node: id, status: "added" },
          ...(installation !== undefined && { installation }),
          ...(kind === "proftpd-nginx" && (await findToken(context, id))),
        };
      }),
    );
}

/** @throws CommandFailure that says what to do */
function settingsOf({ random }: OpenOperatorContext, options: AddOptions): Record<string, string> {
  if (options.kind === "embedded") return embeddedSettings(options);
  return options.kind === "cpanel" ? panelSettings(options, random) : {};
}

/** What its machine needs to become the node, or what has to be done before there can be a token. */
async function findToken(context: OpenOperatorContext, id: string) {
  try {
    return await makeToken(context, id);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { next: `${error.message}; then deedhouse node token ${id}` };
  }
}

/** @throws OperatorError */
async function makeToken(context: OpenOperatorContext, id: string) {
  const token = (await createJoinToken(context, id)).reveal();
  return { node: id, token, next: `on its machine, within 24 hours: deedhouse node install --token ${token}` };
}

/** @throws CommandFailure that says what to do */
function embeddedSettings({ controlUrl, controlTokenFile }: AddOptions): Record<string, string> {
  if (controlUrl === undefined || controlTokenFile === undefined) {
    const advice = "They say how the gateway reaches the node: its DEEDHOUSE_NODE_CONTROL_PORT and _TOKEN.";
    throw new CommandFailure("--control-url and --control-token-file are missing", exitCodes.usage, advice);
  }
  if (!/^https?:\/\//.test(controlUrl) || !URL.canParse(controlUrl)) {
    throw new CommandFailure(`${controlUrl} is no URL such as http://127.0.0.1:7481`, exitCodes.usage);
  }
  try {
    return { controlUrl, controlToken: readFileSync(controlTokenFile, "utf8").trim() };
  } catch (error) {
    throw new CommandFailure(`can't read the token: ${(error as Error).message}`, exitCodes.usage);
  }
}

function addMachineCommands(nodes: Command): void {
  const reconcile = operatorCommand(nodes, "reconcile <id>", "compare what a node has with what it shall have")
    .option("--repair", "bring accounts that are missing or different to what they shall be")
    .option("--remove-strays", "remove what is there without a reason, if its uid was given out here; a trash keeps it")
    .addHelpText(
      "after",
      "\nA worker asks the node. Exit code 1 when something is wrong. It is done every night too, and what it finds is an" +
        "\nalarm. An account that is missing is made again without its files: look for them first." +
        "\n\nExample:\n  deedhouse node reconcile web-7 --repair",
    );
  addTimeoutOption(reconcile, "for the worker").action(
    onDatabase(
      (context, id: string, options: ReconcileOptions) => compareNode(context, id, options),
      ({ findings, ...fields }) => {
        printFields(fields);
        if (findings.length > 0) process.stdout.write("\n");
        printTable(findings, ["kind", "identifier", "uid", "isOurs", "note"]);
      },
    ),
  );
  operatorCommand(nodes, "token <id>", "make a token with which one machine becomes the node, within 24 hours")
    .addHelpText(
      "after",
      "\nTokens that were made for it before are worth nothing.\n\nExample:\n  deedhouse node token web-7",
    )
    .action(onDatabase((context, id: string) => makeToken(context, id)));
  operatorCommand(
    nodes,
    "restored <id>",
    "after a backup was restored: tell the node this database's state, although it knew a later one",
  )
    .addHelpText("after", "\nSee docs/hosting.md first.\n\nExample:\n  deedhouse node restored web-7")
    .action(
      onDatabase(async (context, id: string) => ({ node: id, accounts_told: await continueAfterRestore(context, id) })),
    );
}

interface ReconcileOptions {
  repair?: boolean;
  removeStrays?: boolean;
  timeout: number;
}

async function compareNode(
  context: OpenOperatorContext,
  id: string,
  { repair = false, removeStrays = false, timeout }: ReconcileOptions,
) {
  await getNode(context, id);
  const wantedAt = await askReconcile(context, id, { repairs: repair, removesStrays: removeStrays });
  const result = await waitFor(context, timeout, () => findResult(context.database, id, wantedAt));
  if (result === undefined) {
    const advice = "Its answer will be in the alarms; see that a worker runs.";
    throw new CommandFailure(`the node ${id} is not compared yet`, exitCodes.stillGoing, advice);
  }
  if (typeof result === "string") throw new CommandFailure(`${id}: ${result}`, exitCodes.unavailable);
  const { counts, findings } = result;
  if (findings.length > 0) process.exitCode = exitCodes.unexpected;
  return { node: id, ...counts, ...(repair && { repairs: "enqueued" }), findings };
}

function addListCommands(nodes: Command): void {
  operatorCommand(nodes, "list", "list the hosting nodes with what they hold")
    .addHelpText(
      "after",
      "\nCommitted are the disk quotas of the accounts on a node and of those that move to it or leave it; used is" +
        "\nwhat they really use." +
        "\n\nExample:\n  deedhouse node list",
    )
    .action(
      onDatabase(
        (context) => listNodes(context),
        (rows) =>
          asTable(
            ...(["id", "kind", "state", "capacity", "committed", "used", "accounts", "moves"] as const),
            ...(["tags", "last_seen_at"] as const),
          )(
            rows.map(({ capacity_bytes, committed_bytes, used_bytes, accounts_count, accounts_max, ...row }) => ({
              ...row,
              capacity: gigabytes(capacity_bytes),
              committed: gigabytes(committed_bytes),
              used: gigabytes(used_bytes),
              accounts: `${accounts_count} of ${accounts_max}`,
            })),
          ),
      ),
    );
  operatorCommand(nodes, "show <id>", "show a hosting node")
    .addHelpText("after", "\nExample:\n  deedhouse node show web-7")
    .action(onDatabase((context, id: string) => getNode(context, id)));
}

const gigabytes = (bytes: number) => `${(bytes / gigabyte).toFixed(2)} GB`;

function addSetCommands(nodes: Command): void {
  operatorCommand(nodes, "set <id>", "change what a hosting node can hold, or where it is found")
    .option("--capacity-gb <n>", "disk quotas that may be given away on it", wholeNumber(0, capacityGbMax))
    .option("--accounts-max <n>", "accounts at the most", wholeNumber(0, accountsMost))
    .option("--tag <tag>", "what packs may ask for, instead of the tags that it has; can be repeated", tag)
    .option("--no-tags", "take its tags away")
    .option("--ftp <host:port>", "where customers find its FTP server", endpoint)
    .option("--web <host:port>", "where its web server answers", endpoint)
    .option("--https", "the web server answers with TLS there")
    .option("--no-https", "it answers without TLS")
    .addHelpText(
      "after",
      "\nAccounts that are there stay, also when there is less room now; those that wait for room try at once." +
        "\n\nExample:\n  deedhouse node set web-7 --capacity-gb 4000",
    )
    .action(
      onDatabase(async (context, id: string, options: RoomOptions & PlaceOptions & { tags: boolean }) => {
        const { capacityGb, accountsMax, tag: newTags, tags: keepsTags, ftp, web, https } = options;
        const tags = keepsTags ? newTags : [];
        await setNode(context, id, {
          ...(capacityGb !== undefined && { capacityBytes: capacityGb * gigabyte }),
          ...(accountsMax !== undefined && { accountsMax }),
          ...(tags && { tags }),
          ...(ftp && { ftp }),
          ...(web && { web }),
          ...(https !== undefined && { isHttps: https }),
        });
        return getNode(context, id);
      }),
    );
  operatorCommand(nodes, "undrain <id>", "place accounts on a hosting node again")
    .addHelpText("after", "\nExample:\n  deedhouse node undrain web-7")
    .action(
      onDatabase(async (context, id: string) => {
        await setNode(context, id, { isDraining: false });
        return { node: id, status: "open" };
      }),
    );
}
