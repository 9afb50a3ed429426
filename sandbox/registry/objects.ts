/** Rows of the registry's store. Times are ISO 8601 in UTC. A row is never changed in place, but put again. */

export interface HostAddress {
  version: "v4" | "v6";
  address: string;
}

interface NameServer {
  name: string;
  addresses: HostAddress[];
}

export interface Delegation {
  /** Of host objects only the names are here; their addresses are in their own rows. */
  form: "hostObj" | "hostAttr";
  servers: NameServer[];
}

/** How a pending command ends: "lose" is an approval without a message. */
export const decisions = ["approve", "deny", "lose", "never"] as const;
export type Decision = (typeof decisions)[number];

/** What happens to an object later, as a label or a fault says; the TRIDs are those of the command that began it. */
export interface ScheduledAction<Row = Domain> {
  /** A decision; or the create is undone. */
  action: Decision | "undo";
  dueAt: string;
  clTRID?: string | undefined;
  svTRID: string;
  /** What a pending update or renew will change in the row. */
  change?: { set: Partial<Row>; unset: (keyof Row)[] } | undefined;
  /** Whether it is the delete of a host or contact that is pending. */
  removes?: true | undefined;
  /** The pending answer to a transfer. */
  answer?: TransferAnswer | undefined;
}

export type TransferAnswer = "clientApproved" | "clientRejected" | "clientCancelled";

/** A period in which a command is credited if the name is deleted: rgpStatus of RFC 3915 §3.1. */
export interface GracePeriod {
  status: "addPeriod" | "renewPeriod" | "autoRenewPeriod" | "transferPeriod";
  until: string;
  /** The months that a delete in this period subtracts from exDate. */
  months: number;
}

/** The deletion of a name, with the times of its current stage and the TRIDs of the delete command. */
export interface Deletion {
  stage: "redemptionPeriod" | "pendingRestore" | "pendingDelete";
  until: string;
  /** Absent if the registry started it. */
  svTRID?: string | undefined;
  clTRID?: string | undefined;
}

/** A pending transfer, or the last one (RFC 5731 §3.1.3). */
export interface Transfer {
  status: "pending" | "clientApproved" | "clientRejected" | "clientCancelled" | "serverApproved" | "serverCancelled";
  /** The gaining registrar, and the time of its request. */
  reID: string;
  reDate: string;
  /** The losing registrar, and the time of its answer, or the deadline at which the registry approves. */
  acID: string;
  acDate: string;
  /** The months that it adds to the registration. */
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
  /** Until when the authInfo that the registry issued is valid. */
  authInfoUntil?: string | undefined;
  security?: DnsSecurity | undefined;
  scheduled?: ScheduledAction | undefined;
  /** When another registrar requests the transfer of the name, unless a status prohibits it. */
  leavesAt?: string | undefined;
  /** Including past ones, which have no effect: see gracesInForce. */
  graces?: GracePeriod[] | undefined;
  /** Present if and only if the status pendingDelete is set. */
  deletion?: Deletion | undefined;
}

/** A host object (RFC 5732). The status linked is derived from delegations, not stored. */
export interface Host {
  name: string;
  scheduled?: ScheduledAction<Host> | undefined;
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
  scheduled?: ScheduledAction<Contact> | undefined;
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
  /** With the extension taxNumber. */
  taxNumber?: string | undefined;
  /** Its role, at a registry whose extension gives it one. */
  type?: string | undefined;
}

/** A message of a registrar's poll queue. */
export interface PollMessage {
  id: string;
  registrar: string;
  queuedAt: string;
  text: string;
  /** The domain or host name, or the contact id, that it is about. */
  name?: string | undefined;
  /** The kind of that object; absent: a name. */
  object?: "host" | "contact" | undefined;
  /** The outcome of the pending command with these TRIDs; absent in a message that is only text. */
  approved?: boolean | undefined;
  clTRID?: string | undefined;
  svTRID?: string | undefined;
  /** The content of the answer's `<resData>` and `<extension>`, if the message was added manually. */
  xml?: string | undefined;
  extension?: string | undefined;
  /** The service that a client must have requested to get `extension`, and that for `xml`; absent: it always gets them. */
  extensionUri?: string | undefined;
  xmlUri?: string | undefined;
  /** Sent in place of the whole answer, and the number of spaces behind it. */
  raw?: string | undefined;
  padBytes?: number | undefined;
}

/** A registrar's remaining credit. */
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

/** The name of a label that acts once per name, and has done so. */
export interface FiredLabel {
  key: string;
}

/** The statuses in `<info>`: `ok` is only shown alone, `inactive` means no delegation (RFC 5731 §2.3). */
export function statusesOf(domain: Domain): string[] {
  const pending = domain.statuses.includes("pendingCreate");
  const statuses = domain.delegation || pending ? domain.statuses : [...domain.statuses, "inactive"];
  return statuses.length > 0 ? statuses : ["ok"];
}
