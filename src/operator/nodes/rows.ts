/** `deedhouse node add` and `set`: the database's record of a hosting node. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { getNode, setNode } from "#hosting/nodes/manage.ts";
import { type NodeKind, nodeKinds, readNodePlaces, registerNode } from "#hosting/nodes/nodes.ts";
import { wakeUnplaced } from "#hosting/nodes/place.ts";
import { endpoint, wholeNumber } from "#operator/arguments.ts";
import { onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import {
  addSettingsOptions,
  changedSettings,
  type NewSettingsOptions,
  newSettings,
  type SettingsOptions,
  shownSettings,
} from "#operator/nodes/settings.ts";
import { findToken } from "#operator/nodes/token.ts";
import { OperatorError } from "#operator-error.ts";

export const gigabyte = 1_000_000_000;
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

interface AddOptions
  extends Required<Pick<RoomOptions, "capacityGb" | "accountsMax">>,
    PlaceOptions,
    NewSettingsOptions {
  kind: NodeKind;
  tag?: string[];
  ftp: Place;
  web: Place;
}

interface SetOptions extends RoomOptions, PlaceOptions, SettingsOptions {
  tags: boolean;
}

export function addNodeRowCommands(nodes: Command): void {
  addAddCommand(nodes);
  addSetCommands(nodes);
}

/** @throws OperatorError */
export async function findNodeWithSettings(context: OpenOperatorContext, id: string) {
  const node = await getNode(context, id);
  const [place] = await readNodePlaces(context, id);
  return { ...node, ...shownSettings(place?.settings ?? {}) };
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
  const command = operatorCommand(nodes, "add", "add a hosting node")
    .argument("<id>", "its permanent id", nodeId)
    .addOption(new Option("--kind <kind>", "its software").choices(nodeKinds).default("proftpd-nginx"))
    .requiredOption("--capacity-gb <n>", "the total of the disk quotas that it may hold", wholeNumber(0, capacityGbMax))
    .option("--accounts-max <n>", "the maximum number of accounts", wholeNumber(0, accountsMost), accountsMaxDefault)
    .option("--tag <tag>", "a tag that packs can require; can be repeated", tag)
    .requiredOption("--ftp <host:port>", "the address of its FTP server for customers", endpoint)
    .requiredOption("--web <host:port>", "the address of its web server", endpoint)
    .option("--https", "the web server uses TLS");
  addSettingsOptions(command)
    .option("--panel-mail-domain <domain>", "cpanel: the domain of the contact addresses that mark our accounts")
    .option("--panel-installation <name>", "cpanel: for a panel that was added before, the same value as then")
    .addHelpText(
      "after",
      "\nExamples:" +
        "\n  deedhouse node add web-7 --capacity-gb 2000 --tag ssd --ftp ftp7.example.net:21 --web web7.example.net:80" +
        "\n  deedhouse node add small --kind embedded --capacity-gb 50 --ftp 192.0.2.7:7421 --web 192.0.2.7:7480",
    )
    .action(
      onDatabase(async (context, id: string, options: AddOptions) => {
        const { kind, capacityGb, accountsMax, tag: tags = [], ftp, web, https: isHttps = false } = options;
        const settings = newSettings(kind, options, context.random);
        const room = { capacityBytes: capacityGb * gigabyte, accountsMax, tags };
        if (!(await registerNode(context, { id, kind, ftp, web: { ...web, isHttps }, settings }, room, false))) {
          const advice = "deedhouse node set changes it; use another id to add another node";
          throw new OperatorError("refused", `there is a hosting node ${id} already: ${advice}`);
        }
        await wakeUnplaced(context.database);
        const { installation } = settings;
        return {
          node: id,
          status: "added",
          ...(installation !== undefined && { installation }),
          ...(kind !== "cpanel" && (await findToken(context, id))),
        };
      }),
    );
}

function addSetCommands(nodes: Command): void {
  const set = operatorCommand(nodes, "set <id>", "change a hosting node's capacity or addresses")
    .option("--capacity-gb <n>", "the total of the disk quotas that it may hold", wholeNumber(0, capacityGbMax))
    .option("--accounts-max <n>", "the maximum number of accounts", wholeNumber(0, accountsMost))
    .option("--tag <tag>", "a tag that packs can require, instead of its current tags; can be repeated", tag)
    .option("--no-tags", "remove its tags")
    .option("--ftp <host:port>", "the address of its FTP server for customers", endpoint)
    .option("--web <host:port>", "the address of its web server", endpoint)
    .option("--https", "the web server uses TLS")
    .option("--no-https", "the web server does not use TLS");
  addSettingsOptions(set)
    .option("--no-panel-package", "cpanel: use the panel's default from now on")
    .option("--no-panel-ca-file", "cpanel: trust public authorities from now on")
    .addHelpText(
      "after",
      "\nExisting accounts stay, even when the capacity shrinks; accounts that wait for capacity are retried at once. New" +
        "\naddresses apply at once. The marks of a panel's accounts (mail domain, installation) cannot change. The agent of a" +
        "\nnode connects to the gateway: when the gateway's address or key changes, see deedhouse node token." +
        "\n\nExamples:" +
        "\n  deedhouse node set web-7 --capacity-gb 4000" +
        "\n  deedhouse node set panel-1 --panel-token-file /etc/deedhouse/panel-1.token",
    )
    .action(
      onDatabase(async (context, id: string, options: SetOptions) => {
        const { capacityGb, accountsMax, tag: newTags, tags: keepsTags, ftp, web, https } = options;
        const tags = keepsTags ? newTags : [];
        const settings = changedSettings((await getNode(context, id)).kind as NodeKind, options);
        await setNode(context, id, {
          ...(capacityGb !== undefined && { capacityBytes: capacityGb * gigabyte }),
          ...(accountsMax !== undefined && { accountsMax }),
          ...(tags && { tags }),
          ...(ftp && { ftp }),
          ...(web && { web }),
          ...(https !== undefined && { isHttps: https }),
          ...(Object.keys(settings).length > 0 && { settings }),
        });
        return findNodeWithSettings(context, id);
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
