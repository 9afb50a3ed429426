import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { PageOptions, Webhook, WebhookFields } from "../sdk/types.ts";
import { confirm } from "./confirm.ts";
import { guarded } from "./failures.ts";
import { addListOptions, type ListOptions, printList } from "./listing.ts";
import { note, print, printJson, printTable } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

interface FieldOptions extends ConnectionOptions {
  url?: string;
  to?: string;
  types?: string;
  description?: string;
  json?: boolean;
}

const columns = ["id", "url", "verified", "enabled", "pending", "failing_since", "description"];
const deliveryColumns = ["created_at", "type", "status", "attempts", "answer_status", "event_id", "error_text"];

/** Adds the group `webhooks`. */
export function addWebhookCommands(program: Command, clock: Clock): void {
  const group = program.command("webhooks").description("addresses to which the service sends your events");

  const create = addFields(
    group.command("create <target-url>").description("make a webhook, and show its secret once"),
  ).addHelpText("after", "\nExample:\n  deedhouse webhooks create https://shop.example.com/hook --types 'domain.*'");
  addConnectionOptions(create).action(
    guarded(async (target: string, { json, ...options }: FieldOptions) => {
      const client = await openClient(options, clock);
      const { data } = await client.createWebhook(target, fieldsOf(options));
      if (json) return printJson(data);
      printTable([data], columns);
      showSecret(data.secret);
      if (!data.verified) note("Its URL gets a webhook.test now, and other events once it has answered.");
    }),
  );

  const list = group
    .command("list")
    .description("list your webhooks")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks list");
  addConnectionOptions(list).action(
    guarded(async ({ json, ...options }: FieldOptions) => {
      const { data } = await (await openClient(options, clock)).listWebhooks();
      if (json) printJson(data);
      else if (data.length > 0) printTable(data, columns);
      else note("Nothing to show.");
    }),
  );

  const show = group
    .command("show <id>")
    .description("show a webhook")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks show wh_5c1f0a9be2d34b7e8a61");
  addConnectionOptions(show).action(
    guarded(async (id: string, options: FieldOptions) => {
      printJson((await (await openClient(options, clock)).getWebhook(id)).data);
    }),
  );
  addChanges(group, clock);
  addDeliveries(group, clock);
}

function addChanges(group: Command, clock: Clock): void {
  const update = addFields(group.command("update <id>").description("change a webhook"))
    .option("--to <target-url>", "send to this URL from now on")
    .option("--enable", "enable it again, with the events that it has missed")
    .option("--disable", "send nothing until it is enabled")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks update wh_5c1f0a9be2d34b7e8a61 --enable");
  addConnectionOptions(update).action(
    guarded(async (id: string, options: FieldOptions & { enable?: boolean; disable?: boolean }) => {
      const client = await openClient(options, clock);
      const { to: url, enable, disable } = options;
      const enabled = enable ? true : disable ? false : undefined;
      const fields = {
        ...fieldsOf(options),
        ...(url !== undefined && { url }),
        ...(enabled !== undefined && { enabled }),
      };
      const { data } = await client.updateWebhook(id, fields);
      if (options.json) printJson(data);
      else printTable([data], columns);
    }),
  );

  const rotate = group
    .command("rotate-secret <id>")
    .description("make a new secret; the old one signs, too, for a day")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks rotate-secret wh_5c1f0a9be2d34b7e8a61");
  addConnectionOptions(rotate).action(
    guarded(async (id: string, options: ConnectionOptions) => {
      showSecret((await (await openClient(options, clock)).rotateWebhookSecret(id)).data.secret);
    }),
  );

  const remove = group
    .command("delete <id>")
    .description("delete a webhook, with its deliveries")
    .option("--yes", "do not ask for confirmation")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks delete wh_5c1f0a9be2d34b7e8a61 --yes");
  addConnectionOptions(remove).action(
    guarded(async (id: string, options: ConnectionOptions & { yes?: boolean }) => {
      const client = await openClient(options, clock);
      const { data } = await client.getWebhook(id);
      if (!options.yes) await confirm(`Delete the webhook to ${data.url}, with its log?`);
      await client.deleteWebhook(id);
      print("Deleted.");
    }),
  );
}

function addDeliveries(group: Command, clock: Clock): void {
  const test = group
    .command("test <id>")
    .description("send an event of the type webhook.test")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks test wh_5c1f0a9be2d34b7e8a61");
  addConnectionOptions(test).action(
    guarded(async (id: string, options: ConnectionOptions) => {
      await (await openClient(options, clock)).testWebhook(id);
      print(`It is being sent: deedhouse webhooks deliveries ${id}`);
    }),
  );

  const deliveries = group
    .command("deliveries <id>")
    .description("list the deliveries of a webhook, the newest first")
    .option("--status <status>", "only Pending, Delivered or Failed ones")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks deliveries wh_5c1f0a9be2d34b7e8a61 --status Failed");
  addConnectionOptions(addListOptions(deliveries)).action(
    guarded(async (id: string, options: ConnectionOptions & ListOptions & { status?: "Pending" }) => {
      const client = await openClient(options, clock);
      const { status } = options;
      const getPage = (page: PageOptions) => client.listWebhookDeliveries(id, { ...page, status });
      await printList(options, deliveryColumns, getPage, () => client.allWebhookDeliveries(id, { status }));
    }),
  );

  const resend = group
    .command("resend <id> <event-id>")
    .description("send an event again, with the same id")
    .addHelpText("after", "\nExample:\n  deedhouse webhooks resend wh_5c1f0a9be2d34b7e8a61 evt_1_8142_77");
  addConnectionOptions(resend).action(
    guarded(async (id: string, eventId: string, options: ConnectionOptions) => {
      await (await openClient(options, clock)).resendWebhookDelivery(id, eventId);
      print(`It is being sent: deedhouse webhooks deliveries ${id}`);
    }),
  );
}

const addFields = (command: Command): Command =>
  command
    .option("--types <types>", "types or families such as domain.*, with commas; '' for all")
    .option("--description <text>", "a note for people")
    .option("--json", "print the API's JSON");

function fieldsOf({ types, description }: FieldOptions): WebhookFields {
  return {
    ...(types !== undefined && { types: types === "" ? [] : types.split(",") }),
    ...(description !== undefined && { description }),
  };
}

function showSecret(secret: Webhook["id"] | undefined): void {
  if (secret === undefined) note("The secret was shown before. Make another: rotate-secret");
  else print(`Secret, shown this once: ${secret}`);
}
