/** Rows of the registry's store. Times are ISO 8601 in UTC. A row is never changed in place: it is put again. */

export interface HostAddress {
  version: "v4" | "v6";
  address: string;
}

interface NameServer {
  name: string;
  addresses: HostAddress[];
}

export interface Delegation {
  /** Host objects are names here, their addresses stand in their own rows. */
  form: "hostObj" | "hostAttr";
  servers: NameServer[];
}

/** What the registry does later with a name that a label marked; the TRIDs are those of the create. */
export interface ScheduledAction {
  action: "approve" | "deny" | "lose" | "never" | "undo";
  dueAt: string;
  clTRID?: string | undefined;
  svTRID: string;
}

/** A time in which the registrar gets its money back for what was done: rgpStatus of RFC 3915 §3.1. */
export interface GracePeriod {
  status: "addPeriod" | "renewPeriod" | "autoRenewPeriod" | "transferPeriod";
  until: string;
  /** What a delete within it takes from exDate again. */
  months: number;
}

/** The end of a name's life. Times and TRIDs are those of the present stage and of the delete that began it. */
export interface Deletion {
  stage: "redemptionPeriod" | "pendingRestore" | "pendingDelete";
  until: string;
  /** Absent where the registry began it by itself. */
  svTRID?: string | undefined;
  clTRID?: string | undefined;
}

/** A transfer that is pending, or the last one there was (RFC 5731 §3.1.3). */
export interface Transfer {
  status: "pending" | "clientApproved" | "clientRejected" | "clientCancelled" | "serverApproved" | "serverCancelled";
  /** Who gains the name, and asked for it when. */
  reID: string;
  reDate: string;
  /** Who loses it, and answered or must answer when: then the registry approves. */
  acID: string;
  acDate: string;
  /** By how much it makes the name last longer. */
  months: number;
}

/** The records of RFC 5910 that secure a name's delegation: DS records, or the keys to make them from. */
export interface DnsSecurity {
  maxSigLife?: number | undefined;
  dsData: DelegationSigner[];
  keyData: DnsKey[];
}

export interface DelegationSigner {
  keyTag: number;
  alg: number;
  digestType: number;
  /** Hexadecimal, in capitals. */
  digest: string;
  keyData?: DnsKey | undefined;
}

export interface DnsKey {
  flags: number;
  protocol: number;
  alg: number;
  /** Base64 without white space. */
  pubKey: string;
}

export interface DomainContact {
  type: string;
  id: string;
}

export interface Domain {
  name: string;
  roid: string;
  registrant?: string | undefined;
  contacts: DomainContact[];
  delegation?: Delegation | undefined;
  /** client… and server… statuses and pendingCreate; ok and inactive are derived (see statusesOf). */
  statuses: string[];
  clID: string;
  crID: string;
  crDate: string;
  upID?: string | undefined;
  upDate?: string | undefined;
  exDate: string;
  trDate?: string | undefined;
  transfer?: Transfer | undefined;
  authInfo: string;
  security?: DnsSecurity | undefined;
  scheduled?: ScheduledAction | undefined;
  /** Those that are over count for nothing: see gracesInForce. */
  graces?: GracePeriod[] | undefined;
  /** Present exactly as long as the status pendingDelete. */
  deletion?: Deletion | undefined;
}

/** A host object (RFC 5732). It is linked while a domain delegates to it: derived, never stored. */
export interface Host {
  name: string;
  roid: string;
  statuses: string[];
  addresses: HostAddress[];
  clID: string;
  crID: string;
  crDate: string;
  upID?: string | undefined;
  upDate?: string | undefined;
  trDate?: string | undefined;
}

export interface PostalInfo {
  type: string;
  name: string;
  org?: string | undefined;
  street: string[];
  city: string;
  sp?: string | undefined;
  pc?: string | undefined;
  cc: string;
}

export interface PhoneNumber {
  number: string;
  extension?: string | undefined;
}

export interface Disclosure {
  flag: string;
  fields: { name: string; type?: string | undefined }[];
}

export interface Contact {
  id: string;
  roid: string;
  statuses: string[];
  postalInfo: PostalInfo[];
  voice?: PhoneNumber | undefined;
  fax?: PhoneNumber | undefined;
  email: string;
  clID: string;
  crID: string;
  crDate: string;
  upID?: string | undefined;
  upDate?: string | undefined;
  authInfo: string;
  disclose?: Disclosure | undefined;
}

/** A message of a registrar's poll queue. */
export interface PollMessage {
  id: string;
  registrar: string;
  queuedAt: string;
  text: string;
  name?: string | undefined;
  /** How a pending command ended, whose TRIDs are below; absent in a message that is text only. */
  approved?: boolean | undefined;
  clTRID?: string | undefined;
  svTRID?: string | undefined;
  /** The content of the answer's `<resData>` and `<extension>` where the message was put in by hand. */
  xml?: string | undefined;
  extension?: string | undefined;
}

/** What a registrar has left to pay with. */
export interface Credit {
  registrar: string;
  units: number;
}

/** How far the registry's clock is ahead of the machine's. */
export interface ClockOffset {
  id: "clock";
  offsetMs: number;
}

/** A password that its registrar changed with `<newPW>`. */
export interface ChangedPassword {
  registrar: string;
  password: string;
}

/** A label that acts once per name, and has. */
export interface FiredLabel {
  key: string;
}

/** The statuses `<info>` shows: `ok` stands alone, `inactive` says that there is no delegation (RFC 5731 §2.3). */
export function statusesOf(domain: Domain): string[] {
  const pending = domain.statuses.includes("pendingCreate");
  const statuses = domain.delegation || pending ? domain.statuses : [...domain.statuses, "inactive"];
  return statuses.length > 0 ? statuses : ["ok"];
}
