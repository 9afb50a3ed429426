import { isIPv6 } from "node:net";
import { response } from "./answer.ts";
import { dnsSecurityTag } from "./commands/dns-security.ts";
import { nextRoid, requireTransferable } from "./commands/domain-data.ts";
import { infData } from "./commands/domain-info.ts";
import { requireRegistrar } from "./credit.ts";
import { parseDomainName } from "./domain-name.ts";
import { notify, recordEvent } from "./events.ts";
import { hostsBelow, removeName } from "./hosts-below.ts";
import { decide } from "./lifecycle.ts";
import { findAnswerFault } from "./messages.ts";
import { changePollUri } from "./namespaces.ts";
import {
  type Decision,
  type Delegation,
  type DelegationSigner,
  type DnsKey,
  type Domain,
  type DomainContact,
  decisions,
  type PollMessage,
} from "./objects.ts";
import { decideContact, decideHost, type Pendable } from "./pending.ts";
import type { Registry } from "./registry.ts";
import { Refusal } from "./result-codes.ts";
import { requireStatuses, timeOf } from "./seed.ts";
import { otherRegistrarId } from "./settings.ts";
import { askForTransfer, endTransfer, type TransferEnd } from "./transfers.ts";
import { optionalTag, tag } from "./xml.ts";

/** What the registry shows of a name in its messages. */
const inMessages = { isPrivileged: false, withServers: true, withExDate: true, below: [] };

/**
 * What happens to names without a command of their registrar, because a test wants it: another registrar takes them, the
 * registry's staff changes them, a decision is made. Each function checks everything first, and throws a RangeError.
 */

/** What another registrar, the name's registrar or the registry does about a transfer. */
export const transferSteps = ["request", "approve", "reject", "cancel", "server-approve", "server-cancel"] as const;

export interface TransferIntervention {
  name: string;
  op: (typeof transferSteps)[number];
  /** Who requests it; absent: `sandbox-other`. The name's authInfo is not needed. */
  registrar?: string;
}

const transferEnds: Readonly<Record<Exclude<TransferIntervention["op"], "request">, TransferEnd>> = {
  approve: "clientApproved",
  reject: "clientRejected",
  cancel: "clientCancelled",
  "server-approve": "serverApproved",
  "server-cancel": "serverCancelled",
};

/** Takes one step of a transfer. Both registrars get a message, because neither sent a command. */
export async function intervene(registry: Registry, { name, op, registrar }: TransferIntervention): Promise<void> {
  const domain = requireDomain(registry, name);
  if (op === "request") {
    const gainer = registrar ?? otherRegistrarId;
    requireGainer(registry, domain, gainer);
    askForTransfer(registry, domain, gainer);
  } else {
    if (registrar !== undefined) throw new RangeError("registrar belongs to a request");
    if (domain.transfer?.status !== "pending") throw new RangeError(`No transfer of "${name}" is pending.`);
    endTransfer(registry, domain, transferEnds[op]);
  }
  recordEvent(registry, domain, `transfer-${op}`);
  await registry.store.durable();
}

function requireGainer(registry: Registry, domain: Domain, id: string): void {
  requireRegistrar(registry, id);
  if (domain.clID === id) throw new RangeError(`"${id}" sponsors "${domain.name}" already.`);
  try {
    requireTransferable(domain);
  } catch (error) {
    if (error instanceof Refusal) throw new RangeError(`The name cannot be transferred: ${error.reason}`);
    throw error;
  }
}

/** Decides now what is pending about a name, a host or a contact. */
export async function decideNow(registry: Registry, name: string, decision: Exclude<Decision, "never">): Promise<void> {
  registry.schedule.runDue();
  const { domains, hosts, contacts } = registry.store;
  const domain = pendingOf(domains.find(name.toLowerCase()));
  const host = pendingOf(hosts.find(name.toLowerCase()));
  const contact = pendingOf(contacts.find(name));
  if (domain) decide(registry, domain, decision);
  else if (host) decideHost(registry, host, decision);
  else if (contact) decideContact(registry, contact, decision);
  else throw new RangeError(`Nothing about "${name}" waits for a decision.`);
  await registry.store.durable();
}

/** The object, if a command about it is pending. */
function pendingOf<Row extends Pendable<Row>>(row: Row | undefined): Row | undefined {
  return decisions.some((decision) => decision === row?.scheduled?.action) ? row : undefined;
}

/** A change behind the back of the name's registrar. Absent fields stay as they are. */
export interface DomainChange {
  addStatuses?: string[];
  removeStatuses?: string[];
  /** All name servers; host objects that do not exist are created for `sandbox-other`. */
  nameServers?: { name: string; addresses?: string[] }[];
  registrant?: string;
  contacts?: DomainContact[];
  /** All DNSSEC records, in one of the forms; an empty list removes them. */
  dsData?: DelegationSigner[];
  keyData?: DnsKey[];
  exDate?: string;
  /** The registrar that the name, and the hosts below it, belong to from now on; no transfer is involved. */
  registrar?: string;
  /** The name is gone at once. */
  removed?: true;
  /** A message to the registrar that the name had before; absent: it gets none. */
  message?: { text?: string; changePoll?: ChangePoll };
}

/** The extension of the message (RFC 8590), for a client that requested it. */
export interface ChangePoll {
  operation?: "delete" | "transfer" | "update" | "custom";
  who?: string;
  reason?: string;
  /** Of a dispute about the name (UDRP). */
  caseId?: string;
  /** A message for each: the name as it was before the change, and as it is after it. Absent: after, or before for a removal. */
  states?: ("before" | "after")[];
}

/** Changes a name behind the back of its registrar. */
export async function changeDomain(registry: Registry, name: string, change: DomainChange): Promise<void> {
  const before = requireDomain(registry, name);
  if (change.registrar !== undefined && before.transfer?.status === "pending") {
    throw new RangeError(`A transfer of "${name}" is pending: end it first.`);
  }
  const after = changed(registry, before, change);
  const messages = messagesOf(registry, before, after, change);
  requireShowable(change.removed ? before : after, messages[0]?.extension);
  if (change.removed) removeName(registry, before.name);
  else put(registry, before, after, change);
  for (const message of messages) notify(registry, before, message);
  recordEvent(registry, before, change.removed ? "remove" : "change");
  registry.schedule.runDue();
  await registry.store.durable();
}

function changed(registry: Registry, domain: Domain, change: DomainChange): Domain {
  const { addStatuses = [], removeStatuses = [], nameServers, contacts, registrant, exDate, registrar } = change;
  requireStatuses([...addStatuses, ...removeStatuses]);
  const missing = removeStatuses.find((status) => !domain.statuses.includes(status));
  if (missing !== undefined) throw new RangeError(`"${domain.name}" does not have ${missing}.`);
  if (registrar !== undefined) requireRegistrar(registry, registrar);
  for (const id of [registrant, ...(contacts ?? []).map((contact) => contact.id)]) {
    if (id !== undefined && !registry.store.contacts.find(id)) throw new RangeError(`There is no contact "${id}".`);
  }
  const kept = domain.statuses.filter((status) => !removeStatuses.includes(status));
  return {
    ...domain,
    statuses: [...new Set([...kept, ...addStatuses])],
    delegation: nameServers ? delegationOf(registry, nameServers) : domain.delegation,
    registrant: registrant ?? domain.registrant,
    contacts: contacts ?? domain.contacts,
    security: securityOf(domain, change),
    exDate: exDate === undefined ? domain.exDate : timeOf(exDate),
    clID: registrar ?? domain.clID,
    upDate: registry.now().toISOString(),
  };
}

function delegationOf(
  { settings }: Registry,
  servers: NonNullable<DomainChange["nameServers"]>,
): Delegation | undefined {
  const isObjects = settings.hostModel === "objects";
  const parsed = servers.map(({ name, addresses = [] }) => {
    const host = parseDomainName(name);
    if (host === undefined) throw new RangeError(`"${name}" is not a host name.`);
    if (isObjects && addresses.length > 0) throw new RangeError("Host objects have their addresses themselves.");
    const versioned = addresses.map((address) => ({ version: isIPv6(address) ? "v6" : "v4", address }) as const);
    return { name: host, addresses: versioned };
  });
  return parsed.length > 0 ? { form: isObjects ? "hostObj" : "hostAttr", servers: parsed } : undefined;
}

function securityOf(domain: Domain, { dsData, keyData }: DomainChange): Domain["security"] {
  if (!dsData && !keyData) return domain.security;
  const security = { dsData: dsData ?? [], keyData: keyData ?? [] };
  if (security.dsData.length > 0 && security.keyData.length > 0) throw new RangeError("dsData and keyData do not mix.");
  return security.dsData.length + security.keyData.length > 0 ? security : undefined;
}

function put(registry: Registry, before: Domain, after: Domain, { nameServers, registrar }: DomainChange): void {
  const { store } = registry;
  const crDate = registry.now().toISOString();
  const isObjects = registry.settings.hostModel === "objects";
  for (const { name } of isObjects && nameServers ? (after.delegation?.servers ?? []) : []) {
    if (store.hosts.find(name)) continue;
    const owner = { clID: otherRegistrarId, crID: otherRegistrarId };
    store.hosts.put({ name, roid: nextRoid(registry, "H"), statuses: [], addresses: [], ...owner, crDate });
  }
  if (registrar !== undefined) {
    for (const host of hostsBelow(store, before.name)) store.hosts.put({ ...host, clID: registrar });
  }
  store.domains.put(after);
}

function messagesOf(registry: Registry, before: Domain, after: Domain, change: DomainChange) {
  if (!change.message) return [];
  const { states = [change.removed ? "before" : "after"] } = change.message.changePoll ?? {};
  if (change.removed && states.includes("after")) throw new RangeError("Nothing shows a name after its removal.");
  return states.map((state) => messageOf(registry, state === "before" ? before : after, state, change));
}

function messageOf(
  registry: Registry,
  shown: Domain,
  state: "before" | "after",
  { message, removed, registrar }: DomainChange,
): Pick<PollMessage, "text" | "xml" | "extension" | "extensionUri"> {
  const { text = "The registry changed the name", changePoll } = message!;
  if (!changePoll) return { text };
  const operation = changePoll.operation ?? (removed ? "delete" : registrar === undefined ? "update" : "transfer");
  const extension = tag(
    "changePoll:changeData",
    { "xmlns:changePoll": changePollUri, state },
    tag("changePoll:operation", {}, operation),
    tag("changePoll:date", {}, registry.now().toISOString()),
    tag("changePoll:svTRID", {}, `SBX-${registry.store.nextNumber()}`),
    tag("changePoll:who", {}, changePoll.who ?? "Registry staff"),
    changePoll.caseId === undefined ? [] : tag("changePoll:caseId", { type: "udrp" }, changePoll.caseId),
    optionalTag("changePoll:reason", changePoll.reason),
  );
  const xml = infData(shown, inMessages).markup;
  return { text, xml, extension: extension.markup, extensionUri: changePollUri };
}

/** Answers about the name must be valid, or the registry would end itself. */
function requireShowable(domain: Domain, changeData: string | undefined): void {
  const extension = [
    ...(domain.security ? [dnsSecurityTag(domain.security)] : []),
    ...(changeData === undefined ? [] : [{ markup: changeData }]),
  ];
  const fault = findAnswerFault(
    response({ code: 1000, resData: infData(domain, inMessages), extension, svTRID: "SBX-0" }),
  );
  if (fault !== undefined) throw new RangeError(`No valid answer can show this: ${fault}`);
}

function requireDomain(registry: Registry, name: string): Domain {
  registry.schedule.runDue();
  const domain = registry.store.domains.find(name.toLowerCase());
  if (!domain) throw new RangeError(`There is no name "${name}".`);
  return domain;
}
