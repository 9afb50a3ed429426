import { type ExportableItems, type Items, queryOf } from "./items.ts";
import { pathOf, Resource } from "./resource.ts";
import { answerOf, arrayBody } from "./response.ts";
import type {
  Answer,
  AuthCode,
  Availability,
  CallOptions,
  Contacts,
  ContactsOfDomain,
  Departure,
  DnssecRecords,
  Domain,
  DomainEvent,
  DomainFilter,
  DomainInFull,
  HeldOptions,
  NameServer,
  PlacedOrder,
  RegistrationOptions,
  RegistrationPlan,
  RegistrationStatus,
  RejectReason,
  RenewNow,
  WriteOptions,
} from "./types.ts";

/** Every reason with which a transfer can be rejected. */
export const rejectReasons = [
  "fraud",
  "identity-disputed",
  "unpaid",
  "registrant-objects",
  "registered-recently",
  "transferred-recently",
  "registrant-changed-recently",
  "name-dispute",
  "transfer-dispute",
  "court-order",
] as const satisfies readonly RejectReason[];

/** Domain names. `client.orders.finished` waits for what a call has ordered. */
export class Domains extends Resource {
  /** The portfolio, or the part that the filter selects. */
  list({ namePrefix, expiresBefore, willRenew, signal }: DomainFilter & CallOptions = {}): ExportableItems<Domain> {
    const filter = { name_prefix: namePrefix, expires_before: expiresBefore, will_renew: willRenew };
    return this.exportable({ path: "/domains", filter, signal });
  }

  get(domainName: string, options?: CallOptions): Promise<Answer<DomainInFull>> {
    return this.read(pathOf("domains", domainName), options);
  }

  /** What happened to a domain name that is yours, or was, the newest first. */
  history(domainName: string, { signal }: CallOptions = {}): Items<DomainEvent> {
    return this.items({ path: pathOf("domains", domainName, "history"), signal });
  }

  /** Names that have left the portfolio, the newest departure first. */
  departures({ signal }: CallOptions = {}): ExportableItems<Departure> {
    return this.exportable({ path: "/domains/departures", signal });
  }

  /** Whether names can be registered, in the order asked: at most 50, and each counts as a request. */
  async checkAvailability(
    domainNames: readonly string[],
    { signal }: CallOptions = {},
  ): Promise<Answer<Availability[]>> {
    const query = queryOf({ names: domainNames.join(",") });
    const reply = await this.api.send({ method: "GET", path: "/domains/availability", query, signal });
    return answerOf(reply, arrayBody<Availability>(reply));
  }

  /** Makes every check of a registration, and orders nothing. */
  checkRegistration(domainName: string, options: RegistrationOptions = {}): Promise<Answer<RegistrationPlan>> {
    return this.object(registrationCall(domainName, options, true));
  }

  register(domainName: string, options: RegistrationOptions = {}): Promise<PlacedOrder> {
    return this.order(registrationCall(domainName, options));
  }

  /** The status of a registration alone; `client.orders.get` also says why one has failed. */
  getRegistration(orderCode: string, options?: HeldOptions): Promise<Answer<RegistrationStatus>> {
    return this.read(pathOf("domains", "registrations", orderCode), options);
  }

  /** Renews a name now. This costs money. */
  renew(domainName: string, { years, expirationDate }: RenewNow, options?: WriteOptions): Promise<PlacedOrder> {
    const body = { years, expiration_date: expirationDate };
    return this.order({ method: "POST", path: pathOf("domains", domainName, "renewals"), body }, options);
  }

  /** Needs a key with the scope `domains:delete`. */
  delete(domainName: string, options?: WriteOptions): Promise<PlacedOrder> {
    const query = queryOf({ confirm: domainName });
    return this.order({ method: "DELETE", path: pathOf("domains", domainName), query }, options);
  }

  /** For a name of yours that was deleted. This costs money. */
  restore(domainName: string, options?: WriteOptions): Promise<PlacedOrder> {
    return this.order({ method: "POST", path: pathOf("domains", domainName, "restores") }, options);
  }

  /** Sets whether a name will renew. Rejects with `domain_renewal_underway` once the registry is carrying it out. */
  setWillRenew(domainName: string, willRenew: boolean, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("PUT", pathOf("domains", domainName, "renew"), options, { will_renew: willRenew });
  }

  getContacts(domainName: string, options?: CallOptions): Promise<Answer<ContactsOfDomain>> {
    return this.read(pathOf("domains", domainName, "contacts"), options);
  }

  /** Orders other contacts; those left out stay. */
  setContacts(domainName: string, contacts: Contacts, options?: WriteOptions): Promise<PlacedOrder> {
    return this.#put(domainName, "contacts", contacts, options);
  }

  /** Replaces the name servers. Hosts below the name itself need addresses, unless they exist. */
  setNameServers(
    domainName: string,
    nameServers: readonly (string | NameServer)[],
    options?: WriteOptions,
  ): Promise<PlacedOrder> {
    return this.#put(domainName, "nameservers", { name_servers: nameServers }, options);
  }

  /** Replaces the DNSSEC records. */
  setDnssec(domainName: string, records: DnssecRecords, options?: WriteOptions): Promise<PlacedOrder> {
    return this.#put(domainName, "dnssec", records, options);
  }

  /** Whether other registrars can transfer the name away. */
  setTransferLock(domainName: string, isLocked: boolean, options?: WriteOptions): Promise<PlacedOrder> {
    return this.#put(domainName, "transfer-lock", { transfer_locked: isLocked }, options);
  }

  /** Orders a new auth code; once the order is finished, `getAuthCode` reads it. */
  orderAuthCode(domainName: string, options?: WriteOptions): Promise<PlacedOrder> {
    return this.order({ method: "POST", path: pathOf("domains", domainName, "auth-code") }, options);
  }

  /** Rejects with `auth_code_not_found` before a code's order is finished and after the code has expired. */
  getAuthCode(domainName: string, options?: CallOptions): Promise<Answer<AuthCode>> {
    return this.read(pathOf("domains", domainName, "auth-code"), options);
  }

  /** Lets the name go to the registrar that requests it now. */
  approveTransfer(domainName: string, options?: WriteOptions): Promise<PlacedOrder> {
    return this.#answerTransfer(domainName, { answer: "approve" }, options);
  }

  /** Refuses the transfer that another registrar requests now. */
  rejectTransfer(domainName: string, reason: RejectReason, options?: WriteOptions): Promise<PlacedOrder> {
    return this.#answerTransfer(domainName, { answer: "reject", reason }, options);
  }

  #answerTransfer(domainName: string, body: object, options?: WriteOptions): Promise<PlacedOrder> {
    return this.order({ method: "POST", path: pathOf("domains", domainName, "transfer-out"), body }, options);
  }

  #put(domainName: string, part: string, body: object, options?: WriteOptions): Promise<PlacedOrder> {
    return this.order({ method: "PUT", path: pathOf("domains", domainName, part), body }, options);
  }
}

function registrationCall(domainName: string, options: RegistrationOptions, isDryRun?: true) {
  const { years, nameServers, contacts = {}, willRenew, allocationToken, idempotencyKey, signal } = options;
  const { registrant, ...others } = contacts;
  const body = {
    domain_name: domainName,
    years,
    name_servers: nameServers,
    registrant,
    contacts: Object.keys(others).length > 0 ? others : undefined,
    will_renew: willRenew,
    allocation_token: allocationToken,
    dry_run: isDryRun,
  };
  return { method: "POST", path: "/domains/registrations", body, idempotencyKey, signal } as const;
}
