import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { Contact, ContactRole, Contacts } from "../sdk/types.ts";
import { addChangeOptions, type ChangeOptions, orderChange } from "./changes.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { printFields, printJson } from "./output.ts";
import { openClient } from "./settings.ts";

const roles: readonly ContactRole[] = ["registrant", "admin", "tech", "billing"];

/** The options of `contactOption`. */
export type ContactFiles = { [Role in ContactRole]?: string };

export const contactOption = (role: ContactRole): Option =>
  new Option(`--${role} <file>`, `a JSON file with the ${role === "registrant" ? role : `${role} contact`}`);

/** The contacts in the given files; `undefined` when none is given. @throws CommandFailure */
export async function readContactFiles(files: ContactFiles): Promise<Contacts | undefined> {
  const given = roles.filter((role) => files[role] !== undefined);
  if (given.length === 0) return undefined;
  const contacts: Contacts = {};
  for (const role of given) contacts[role] = await readContact(files[role]!);
  return contacts;
}

async function readContact(file: string): Promise<Contact> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Contact;
  } catch (error) {
    const why = error instanceof SyntaxError ? "it is not JSON" : (error as Error).message;
    throw new CommandFailure(`the contact in ${file} cannot be read: ${why}`, exitCodes.usage);
  }
}

/** The command for a name's contacts, in the group `domains`. */
export function addContactsCommand(domains: Command, clock: Clock): void {
  const contacts = domains
    .command("contacts <domain-name>")
    .description("show the contacts of one of your domain names, or order other ones");
  for (const role of roles) contacts.addOption(contactOption(role));
  contacts.addHelpText(
    "after",
    `
Contacts that are not given stay as they are. A contact must be complete:
  {"first_name": "Ada", "last_name": "Byron", "email": "ada@mail.example", "phone": "+44.2079460001",
   "address": "Mews 7", "postal_code": "EC1A 1BB", "city": "London", "country_code": "GB"}
Some registries ask for more: "extra_fields": [{"name": "tax_number", "value": "GB123456"}]

Examples:
  deedhouse domains contacts example.com
  deedhouse domains contacts example.com --registrant ada.json --tech office.json --wait`,
  );
  addChangeOptions(contacts).action(
    guarded(async (domainName: string, options: ChangeOptions & ContactFiles) => {
      const wanted = await readContactFiles(options);
      if (wanted) {
        await orderChange(options, clock, (client, order) => client.setContacts(domainName, wanted, order));
        return;
      }
      const { data } = await (await openClient(options, clock)).getContacts(domainName);
      if (options.json) printJson(data);
      else printFields(data);
    }),
  );
}
