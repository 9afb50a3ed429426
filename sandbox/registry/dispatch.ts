import type { ParsedFrame } from "./command.ts";
import { checkContacts } from "./commands/contact-check.ts";
import { createContact } from "./commands/contact-create.ts";
import { deleteContact } from "./commands/contact-delete.ts";
import { infoContact } from "./commands/contact-info.ts";
import { updateContact } from "./commands/contact-update.ts";
import { checkDomains } from "./commands/domain-check.ts";
import { createDomain } from "./commands/domain-create.ts";
import { deleteDomain } from "./commands/domain-delete.ts";
import { infoDomain } from "./commands/domain-info.ts";
import { renewDomain } from "./commands/domain-renew.ts";
import { transferDomain } from "./commands/domain-transfer.ts";
import { updateDomain } from "./commands/domain-update.ts";
import { checkHosts } from "./commands/host-check.ts";
import { createHost } from "./commands/host-create.ts";
import { deleteHost } from "./commands/host-delete.ts";
import { infoHost } from "./commands/host-info.ts";
import { updateHost } from "./commands/host-update.ts";
import { login } from "./commands/login.ts";
import { logout } from "./commands/logout.ts";
import { poll } from "./commands/poll.ts";
import {
  allocationTokenUri,
  authCodeUri,
  contactExtUri,
  contactUri,
  dnsbeUri,
  domainUri,
  eppUri,
  feeUri,
  hostUri,
  issuedAuthInfoUri,
  launchUri,
  namestoreUri,
  objectNames,
  rgpUri,
  secDnsUri,
  sidnUri,
  taxNumberUri,
} from "./namespaces.ts";
import type { CommandHandler } from "./registry.ts";

/** The commands of RFC 5730 §2.9; any other element under `<command>` is 2000. */
export const verbs: ReadonlySet<string> = new Set([
  "check",
  "create",
  "delete",
  "info",
  "login",
  "logout",
  "poll",
  "renew",
  "transfer",
  "update",
]);

const transformVerbs: ReadonlySet<string> = new Set(["create", "delete", "renew", "transfer", "update"]);

/** Whether a command changes an object: the journal calls it executed when its code is 1000 or 1001. */
export function isTransform({ verb, op }: ParsedFrame): boolean {
  return transformVerbs.has(verb ?? "") && op !== "query";
}

/** Handlers by namespace and local name of the element with the command's data. */
export const handlers: ReadonlyMap<string, CommandHandler> = new Map([
  [`${eppUri} login`, login],
  [`${eppUri} logout`, logout],
  [`${eppUri} poll`, poll],
  [`${domainUri} check`, checkDomains],
  [`${domainUri} create`, createDomain],
  [`${domainUri} delete`, deleteDomain],
  [`${domainUri} info`, infoDomain],
  [`${domainUri} renew`, renewDomain],
  [`${domainUri} transfer`, transferDomain],
  [`${domainUri} update`, updateDomain],
  [`${contactUri} check`, checkContacts],
  [`${contactUri} create`, createContact],
  [`${contactUri} delete`, deleteContact],
  [`${contactUri} info`, infoContact],
  [`${contactUri} update`, updateContact],
  [`${hostUri} check`, checkHosts],
  [`${hostUri} create`, createHost],
  [`${hostUri} delete`, deleteHost],
  [`${hostUri} info`, infoHost],
  [`${hostUri} update`, updateHost],
]);

/** The journal's names of all commands and "hello", and the finer ones of the commands with several operations. */
export const commandNames: readonly string[] = [
  ...["hello", "login", "logout", "poll:req", "poll:ack"],
  ...["request", "query", "approve", "reject", "cancel"].map((op) => `domain:transfer-${op}`),
  ...["domain:restore", "domain:restore-request", "domain:restore-report"],
  ...[...handlers.keys()]
    .map((key) => key.split(" "))
    .flatMap(([uri = "", verb]) => {
      const object = objectNames[uri];
      return object ? [`${object}:${verb}`] : [];
    }),
];

/** The commands that an extension's element belongs to, by their names in the journal. */
export const extensionUses: ReadonlyMap<string, readonly string[]> = new Map([
  [`${rgpUri} update`, ["domain:update"]],
  [`${secDnsUri} create`, ["domain:create"]],
  [`${secDnsUri} update`, ["domain:update"]],
  [`${feeUri} check`, ["domain:check"]],
  [`${feeUri} create`, ["domain:create"]],
  [`${feeUri} renew`, ["domain:renew"]],
  [`${feeUri} transfer`, ["domain:transfer"]],
  [`${feeUri} update`, ["domain:update"]],
  [`${allocationTokenUri} allocationToken`, ["domain:check", "domain:create"]],
  [`${launchUri} check`, ["domain:check"]],
  [`${launchUri} create`, ["domain:create"]],
  [`${namestoreUri} namestoreExt`, [...commandNames, "domain:transfer"]],
  [`${contactExtUri} create`, ["contact:create"]],
  [`${dnsbeUri} ext`, ["contact:create", "contact:update", "domain:info"]],
  [`${sidnUri} ext`, ["contact:create", "contact:update"]],
  [`${taxNumberUri} create`, ["contact:create"]],
  [`${authCodeUri} request`, ["domain:update"]],
  [`${issuedAuthInfoUri} info`, ["domain:info"]],
]);
