/** Every command that the EPP client has, with all that it can say, at a sandbox registry that takes it. */
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { changePassword } from "#registry/epp/change-password.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { contactCheck } from "#registry/epp/commands/contact/check.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { contactInfo } from "#registry/epp/commands/contact/info.ts";
import { contactUpdate } from "#registry/epp/commands/contact/update.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import type { NameServers } from "#registry/epp/commands/domain/name-servers.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";
import { domainRestoreReport, domainRestoreRequest } from "#registry/epp/commands/domain/restore.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostCheck } from "#registry/epp/commands/host/check.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import { hostInfo } from "#registry/epp/commands/host/info.ts";
import { hostUpdate } from "#registry/epp/commands/host/update.ts";
import { pollAck } from "#registry/epp/commands/session/poll-ack.ts";
import { pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { createEppPool, type EppPool } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { labels } from "../../sandbox/registry/labels.ts";
import type { SandboxRegistry } from "../../sandbox/registry/server.ts";
import { registryProfile } from "../harness/profiles.ts";

const dayMs = 24 * 60 * 60 * 1000;
const patienceMs = 30_000;
const pastAddGraceDays = 6;

export const rival = { id: "rival", password: "rival-pw-1" };
const newPassword = "a password of more than sixteen characters";

/** Longer than a registry on this machine needs, shorter than anybody wants to wait for one that says nothing. */
const impatienceMs = 100;

/** Who speaks to the registry: asks, and keeps in mind what it was answered. */
interface Registrar {
  ask<Data>(command: EppCommand<Data>): Promise<EppResponse<Data>>;
  drain(): Promise<void>;
}

export interface Tour {
  /** "domain:create 1000", in order. */
  readonly steps: string[];
  /** What the client itself shows of its frames. */
  readonly traced: { direction: "sent" | "received"; xml: string }[];
}

/** @param registry one that has nothing of this tour yet; its clock is put forward */
export async function tourCommands(registry: SandboxRegistry, own: Partial<RegistryProfile> = {}): Promise<Tour> {
  const tour: Tour = { steps: [], traced: [] };
  const profile = registryProfile(registry, { queryTimeoutMs: patienceMs, transformTimeoutMs: patienceMs, ...own });
  const ours = registrarOf(tour, profile, profile);
  const theirs = registrarOf(tour, profile, { registrarId: rival.id, password: new Secret(rival.password) });
  try {
    if (profile.dataModel === "thick") await tourContacts(ours);
    const nameServers = profile.hostModel === "objects" ? await tourHosts(ours) : hostAttributes;
    await tourDomain(ours, profile, nameServers);
    await tourTransfers(ours, theirs);
    await tourEnds(ours, registry, profile);
    await tourPolls(ours);
  } finally {
    await ours.drain();
    await theirs.drain();
  }
  const changed = await changePassword(
    { ...eppOptionsOf(profile), clock: systemClock, random: systemRandom, settleMs: 0, onFrame: traceOf(tour) },
    new Secret(newPassword),
  );
  tour.steps.push(`login ${changed.result}`);
  return tour;
}

const traceOf = (tour: Tour) => (direction: "sent" | "received", xml: string) => {
  tour.traced.push({ direction, xml });
};

function registrarOf(
  tour: Tour,
  profile: RegistryProfile,
  who: Pick<RegistryProfile, "registrarId" | "password">,
): Registrar {
  const pool: EppPool = createEppPool({
    ...eppOptionsOf({ ...profile, ...who }),
    clock: systemClock,
    random: systemRandom,
    log: createLog("test", "silent"),
    onFrame: traceOf(tour),
  });
  return {
    async ask(command) {
      using lease = await pool.acquire("transform", { waitMs: patienceMs });
      const answer = await lease.request(command, { clTRID: `tour-${who.registrarId}-${tour.steps.length}` });
      tour.steps.push(`${command.name} ${answer.code}`);
      return answer;
    },
    drain: () => pool.drain(patienceMs),
  };
}

const address = { street: ["Dam 1", "2 & 3", "<hoog>"], city: "Amsterdam", sp: "NH", pc: "1012 JS", cc: "NL" };
const authInfo = new Secret('auth & "info" <1>');

async function tourContacts({ ask }: Registrar): Promise<void> {
  await ask(contactCheck("tour-c1"));
  const int = { type: "int", name: "Zoe Muller", org: "Muller & Zonen", ...address } as const;
  const phones = { voice: "+31.201234567", fax: "+31.201234568" };
  await ask(contactCreate({ id: "tour-c1", postalInfo: int, ...phones, email: "zoe@tour.test", authInfo }));
  const loc = { ...int, type: "loc", name: "Zoë Müller", org: "日本 & ∀∂∈𝄞" } as const;
  await ask(contactCreate({ id: "tour-c2", postalInfo: loc, email: "zoe@tour.test", authInfo }));
  await ask(contactInfo("tour-c1"));
  await ask(contactInfo("tour-c1", authInfo));
  await ask(contactUpdate({ id: "tour-c2", postalInfo: int, voice: "", email: "new@tour.test", authInfo }));
  await ask(contactUpdate({ id: "tour-c2", addStatuses: ["clientUpdateProhibited", "clientDeleteProhibited"] }));
  await ask(
    contactUpdate({
      id: "tour-c2",
      removeStatuses: ["clientUpdateProhibited", "clientDeleteProhibited"],
      fax: "+31.201234569",
    }),
  );
  await ask(contactDelete("tour-c2"));
}

const external = "ns1.elsewhere.invalid";
const hostAttributes: NameServers = {
  hostModel: "attributes",
  hosts: [
    { name: external, addresses: [] },
    { name: "ns1.tour.test", addresses: ["192.0.2.1", "2001:db8::1"] },
  ],
};

async function tourHosts({ ask }: Registrar): Promise<NameServers> {
  await ask(hostCheck(external));
  await ask(hostCreate({ name: external, addresses: [] }));
  await ask(hostInfo(external));
  return { hostModel: "objects", hosts: [{ name: external, addresses: [] }] };
}

const dsData = {
  keyTag: 12345,
  alg: 13,
  digestType: 2,
  digest: "49FD46E6C4B45C55D4AC49FD46E6C4B45C55D4AC49FD46E6C4B45C55D4AC0001",
};

async function tourDomain({ ask }: Registrar, profile: RegistryProfile, nameServers: NameServers): Promise<void> {
  const name = "tour.test";
  const commands = (["create", "renew", "transfer", "restore"] as const).map((command) => ({ command }));
  await ask(domainCheck(name, { commands: [...commands, { command: "delete" }], currency: "EUR" }));
  await ask(domainCheck("taken-tour.test"));
  const people =
    profile.dataModel === "thick"
      ? { registrant: "tour-c1", contacts: (["admin", "tech"] as const).map((type) => ({ type, id: "tour-c1" })) }
      : {};
  const secDns = { maxSigLifeSeconds: 604_800, dsData: [dsData] };
  const fee = { amount: "10.00", currency: "EUR" };
  const order = { name, periodYears: 1, nameServers, authInfo, ...people };
  await ask(domainCreate({ ...order, secDns, fee }));
  await ask(domainCreate(order));
  const { data } = await ask(domainInfo(name));
  await ask(domainInfo(name, { authInfo }));
  await ask(domainRenew({ name, currentExDate: data?.exDate ?? new Date(0), periodYears: 1, fee }));
  if (nameServers.hostModel === "objects") await tourOwnHosts({ ask }, name);
  const statuses = ["clientHold", "clientTransferProhibited"];
  await ask(domainUpdate({ name, add: { statuses }, authInfo: new Secret("other & auth") }));
  await ask(
    domainUpdate({ name, remove: { statuses, nameServers: { ...nameServers, hosts: nameServers.hosts.slice(0, 1) } } }),
  );
  await ask(
    domainUpdate({ name, secDns: { remove: { dsData: [dsData] }, add: { dsData: [{ ...dsData, keyTag: 1 }] } } }),
  );
  await ask(domainUpdate({ name, secDns: { remove: "all", maxSigLifeSeconds: 60 } }));
  await ask(domainInfo(name));
}

async function tourOwnHosts({ ask }: Pick<Registrar, "ask">, name: string): Promise<void> {
  const host = `ns1.${name}`;
  await ask(hostCreate({ name: host, addresses: ["192.0.2.1", "2001:db8::1"] }));
  await ask(hostUpdate({ name: host, add: { addresses: ["192.0.2.2"], statuses: ["clientDeleteProhibited"] } }));
  await ask(hostUpdate({ name: host, remove: { addresses: ["192.0.2.1"], statuses: ["clientDeleteProhibited"] } }));
  await ask(hostUpdate({ name: host, newName: `ns2.${name}` }));
  await ask(hostInfo(`ns2.${name}`));
  await ask(hostDelete(`ns2.${name}`));
}

async function tourTransfers(ours: Registrar, theirs: Registrar): Promise<void> {
  const name = "tour.test";
  const password = new Secret("other & auth");
  const request = () => theirs.ask(domainTransfer("request", { name, periodYears: 1, authInfo: password }));
  await request();
  await theirs.ask(domainTransfer("query", { name, authInfo: password }));
  await theirs.ask(domainTransfer("cancel", { name }));
  await request();
  await ours.ask(domainTransfer("reject", { name }));
  await request();
  await ours.ask(domainTransfer("approve", { name }));
}

/** A name deleted late, and restored; one deleted early; one that is decided later. */
async function tourEnds({ ask }: Registrar, registry: SandboxRegistry, profile: RegistryProfile): Promise<void> {
  const people = profile.dataModel === "thick" ? { registrant: "tour-c1" } : {};
  for (const name of ["tour-early.test", "tour-late.test", "pending-approve-tour.test", "pending-deny-tour.test"]) {
    await ask(domainCreate({ name, periodYears: 1, authInfo, ...people }));
  }
  await ask(domainDelete("tour-early.test"));
  await registry.advance(pastAddGraceDays * dayMs);
  const name = "tour-late.test";
  const deletedAt = registry.now();
  await ask(domainDelete(name));
  await ask(domainInfo(name));
  await ask(domainRestoreRequest(name));
  const statements = ["It was not restored to be used by us.", "This is true."] as const;
  const report = {
    preData: "before",
    postData: "after",
    deletedAt,
    restoredAt: registry.now(),
    statements,
    other: "-",
  };
  await ask(domainRestoreReport(name, { ...report, reason: "Deleted in error." }));
  await ask(domainInfo(name));
}

/**
 * Registers, renews and deletes a name of every label, whatever comes of it. Some answers never come, so a session is
 * given up often: that many faults must not open the circuit.
 */
export async function tourLabels(registry: SandboxRegistry): Promise<Tour> {
  const tour: Tour = { steps: [], traced: [] };
  const patient = registryProfile(registry, { queryTimeoutMs: patienceMs, transformTimeoutMs: patienceMs });
  const contacts = registrarOf(tour, patient, patient);
  await tourContacts(contacts);
  await contacts.drain();
  const circuit = { ...circuitSettingsDefault, faultsMax: Number.MAX_SAFE_INTEGER };
  const profile = { ...patient, transformTimeoutMs: impatienceMs, circuit };
  const { ask, drain } = registrarOf(tour, profile, profile);
  const tolerate = async (command: EppCommand<unknown>) => {
    await ask(command).catch((error: unknown) => {
      if (!(error instanceof EppUnanswered)) throw error;
      tour.steps.push(`${command.name} ${error.reason}`);
    });
  };
  for (const { form } of labels) {
    const name = `${form.replace("<nnnn>", "2400").replace("<ms>", "10")}tour.test`;
    await tolerate(domainCheck(name));
    await tolerate(domainCreate({ name, periodYears: 1, registrant: "tour-c1", authInfo }));
    const { exDate } = registry.store.domains.find(name) ?? {};
    if (exDate) await tolerate(domainRenew({ name, currentExDate: new Date(exDate), periodYears: 1 }));
    await tolerate(domainDelete(name));
    await tolerate(domainInfo(name));
  }
  await drain();
  return tour;
}

async function tourPolls({ ask }: Registrar): Promise<void> {
  for (;;) {
    const { code, data } = await ask(pollRequest());
    if (code !== 1301 || !data) return;
    await ask(pollAck(data.id));
  }
}
