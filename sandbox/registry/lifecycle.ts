import { addDays, addMonths } from "./clock.ts";
import type { Deletion, Domain, GracePeriod, Host, PollMessage } from "./objects.ts";
import type { Registry } from "./registry.ts";
import type { Store } from "./store.ts";

/**
 * What happens to a name without a command: RFC 5731 §2.3 and RFC 3915 §3. Each function is given the name as it stands
 * when it falls due, changes the store and tells the journal.
 */

/** What the life of a name needs of the registry. */
export type Surroundings = Pick<Registry, "store" | "settings" | "now">;

type Act = (around: Surroundings, domain: Domain) => void;

export interface Due {
  at: string;
  act: Act;
}

const autoRenewMonths = 12;

const deletionActs: Record<Deletion["stage"], Act> = {
  redemptionPeriod: endRedemption,
  pendingRestore: lapseRestore,
  pendingDelete: purge,
};

/** The next thing that happens to the name by itself, if nobody does anything before. */
export function dueOf(domain: Domain, { atExpiry }: Surroundings["settings"]): Due | undefined {
  const { scheduled, deletion, exDate } = domain;
  const dues: Due[] = [];
  if (scheduled && scheduled.action !== "never") dues.push({ at: scheduled.dueAt, act: decide });
  if (deletion) dues.push({ at: deletion.until, act: deletionActs[deletion.stage] });
  else if (!domain.statuses.includes("pendingCreate")) {
    dues.push({ at: exDate, act: atExpiry === "auto-renew" ? autoRenew : expire });
  }
  return dues.sort((one, other) => Date.parse(one.at) - Date.parse(other.at))[0];
}

/** Does what a label asked for when the name was created. */
function decide(around: Surroundings, domain: Domain): void {
  const { action, clTRID, svTRID } = domain.scheduled!;
  if (action === "approve" || action === "lose") {
    const statuses = domain.statuses.filter((status) => status !== "pendingCreate");
    around.store.domains.put({ ...domain, statuses, scheduled: undefined });
  } else {
    removeName(around, domain.name);
  }
  if (action === "approve" || action === "deny") {
    const approved = action === "approve";
    const text = approved ? "The pending create was approved" : "The pending create was denied";
    notify(around, domain, { text, approved, clTRID, svTRID });
  }
  recordEvent(around, domain, action, { clTRID, svTRID });
}

function autoRenew(around: Surroundings, domain: Domain): void {
  const exDate = addMonths(new Date(domain.exDate), autoRenewMonths).toISOString();
  const graces = withGrace(around, domain, "autoRenewPeriod", autoRenewMonths);
  around.store.domains.put({ ...domain, exDate, graces });
  notify(around, domain, { text: `The name was renewed automatically until ${exDate}` });
  recordEvent(around, domain, "auto-renew");
}

/** As country-code registries do that renew nothing by themselves: out of the zone, but its registrar can restore it. */
function expire(around: Surroundings, domain: Domain): void {
  const isKept = startDeletion(around, domain);
  notify(around, domain, {
    text: isKept ? "The name expired and can be restored" : "The name expired and was deleted",
  });
  recordEvent(around, domain, "expire");
}

/**
 * Begins the end of a name: redemption, then pendingDelete, then gone, as far as the settings have those times. What was
 * paid for within a grace period that is not over is taken back. True if the name still exists.
 */
export function startDeletion(
  around: Surroundings,
  domain: Domain,
  trids: Pick<Deletion, "clTRID" | "svTRID"> = {},
): boolean {
  const { redemption, pendingDelete } = around.settings.graceDays;
  const now = around.now();
  if (redemption === 0 && pendingDelete === 0) {
    removeName(around, domain.name);
    return false;
  }
  const stage = redemption > 0 ? "redemptionPeriod" : "pendingDelete";
  const until = addDays(now, redemption > 0 ? redemption : pendingDelete).toISOString();
  const undoneMonths = gracesInForce(domain, now).reduce((sum, { months }) => sum + months, 0);
  around.store.domains.put({
    ...domain,
    // A lock of its deletion and its deletion exclude each other (RFC 5731 §2.3).
    statuses: [...domain.statuses.filter((status) => !status.endsWith("DeleteProhibited")), "pendingDelete"],
    exDate: addMonths(new Date(domain.exDate), -undoneMonths).toISOString(),
    graces: [],
    deletion: { stage, until, ...trids },
  });
  return true;
}

function endRedemption(around: Surroundings, domain: Domain): void {
  const { pendingDelete } = around.settings.graceDays;
  if (pendingDelete === 0) {
    purge(around, domain);
    return;
  }
  const until = addDays(around.now(), pendingDelete).toISOString();
  around.store.domains.put({ ...domain, deletion: { ...domain.deletion, stage: "pendingDelete", until } });
  recordEvent(around, domain, "redemption-end");
}

/** No report came in time: the name is where it was before the restore was asked for (RFC 3915 §3.1). */
function lapseRestore(around: Surroundings, domain: Domain): void {
  const until = addDays(around.now(), around.settings.graceDays.redemption).toISOString();
  around.store.domains.put({ ...domain, deletion: { ...domain.deletion, stage: "redemptionPeriod", until } });
  notify(around, domain, { text: "The restore lapsed: no report came in time" });
  recordEvent(around, domain, "restore-lapse");
}

function purge(around: Surroundings, domain: Domain): void {
  const { clTRID, svTRID } = domain.deletion!;
  removeName(around, domain.name);
  // A pending delete that a command began ends with a message that names the command (RFC 5731 §3.3).
  notify(around, domain, { text: "The name was deleted", ...(svTRID && { approved: true, clTRID, svTRID }) });
  recordEvent(around, domain, "purge", { clTRID, svTRID });
}

/** The hosts in a name, the one of that very name among them. */
export function hostsBelow({ hosts }: Store, name: string): Host[] {
  return hosts.values().filter((host) => host.name === name || host.name.endsWith(`.${name}`));
}

/** Takes a name away, and the hosts below it from all who delegate to them: their glue is nobody's any more. */
export function removeName({ store }: Pick<Surroundings, "store">, name: string): void {
  store.domains.delete(name);
  const gone = new Set(hostsBelow(store, name).map((host) => host.name));
  if (gone.size === 0) return;
  for (const host of gone) store.hosts.delete(host);
  for (const domain of store.domains.values()) {
    const { delegation } = domain;
    const servers = delegation?.servers.filter((server) => !gone.has(server.name)) ?? [];
    if (!delegation || servers.length === delegation.servers.length) continue;
    store.domains.put({ ...domain, delegation: servers.length > 0 ? { ...delegation, servers } : undefined });
  }
}

/** The grace periods that are not over. */
export function gracesInForce({ graces = [] }: Domain, now: Date): GracePeriod[] {
  return graces.filter(({ until }) => Date.parse(until) > now.getTime());
}

const graceSetting = {
  addPeriod: "add",
  renewPeriod: "renew",
  autoRenewPeriod: "autoRenew",
  transferPeriod: "add",
} as const;

/** The name's grace periods with one more that begins now. */
export function withGrace(
  { settings, now }: Surroundings,
  domain: Domain,
  status: GracePeriod["status"],
  months: number,
): GracePeriod[] {
  const began = now();
  const until = addDays(began, settings.graceDays[graceSetting[status]]).toISOString();
  return [...gracesInForce(domain, began), { status, until, months }];
}

/** The rgpStatus values of RFC 3915 §3.1 that the name has now, each once. */
export function rgpStatusesOf(domain: Domain, now: Date): string[] {
  if (domain.deletion) return [domain.deletion.stage];
  return [...new Set(gracesInForce(domain, now).map(({ status }) => status))];
}

function notify(
  { store, now }: Surroundings,
  domain: Domain,
  message: Pick<PollMessage, "text" | "approved" | "clTRID" | "svTRID">,
): void {
  store.messages.put({
    id: String(store.nextNumber()),
    registrar: domain.clID,
    queuedAt: now().toISOString(),
    name: domain.name,
    ...message,
  });
}

function recordEvent(
  { store, now }: Surroundings,
  domain: Domain,
  event: string,
  trids: Pick<Deletion, "clTRID" | "svTRID"> = {},
): void {
  store.journal.record({
    number: store.nextNumber(),
    at: now().toISOString(),
    registrar: domain.clID,
    direction: "event",
    ...trids,
    command: `domain:${event}`,
    name: domain.name,
    executed: false,
  });
}
