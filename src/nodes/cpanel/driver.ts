/**
 * The driver of a node that is a cPanel & WHM server. The panel's answer is never the proof of a change: it is looked
 * before, so that nothing is done twice or to somebody else's account, and after, since an answer can get lost. Only what
 * carries our marker for this uid and identifier is ever touched.
 */
import { Type } from "typebox";
import { Value } from "typebox/value";
import type { Clock } from "#lib/clock.ts";
import { createLane, type Lane } from "#lib/lane.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import type { Secret } from "#lib/secret.ts";
import { Identifier, PasswordHash, Uid } from "#nodes/account-json.ts";
import { createLook, type Look, mebibyte, type PanelAccount } from "#nodes/cpanel/accounts.ts";
import { FtpAccounts, randomPassword } from "#nodes/cpanel/ftp-accounts.ts";
import { type MarkerSettings, markerOf, panelDomain, panelUser } from "#nodes/cpanel/names.ts";
import { UsagePoll } from "#nodes/cpanel/usage-poll.ts";
import { createWhm, parse, type Whm, type WhmAnswer, type WhmSettings } from "#nodes/cpanel/whm.ts";
import {
  type AccountKey,
  type Capabilities,
  type DesiredAccount,
  type Endpoint,
  type HostingNode,
  type NodeAccount,
  NodeRefused,
  NodeUnavailable,
} from "#nodes/driver.ts";
import { probeAccount } from "#nodes/probe.ts";

const usagePollMsDefault = 5 * 60_000;
/** Operations on one account come one after the other; accounts share lanes. */
const lanesCount = 64;
const suspendReason = "Suspended by its reseller";

export const panelCapabilities: Capabilities = {
  diskUnitBytes: mebibyte,
  limitsFilesAndSessions: false,
  showsFtp: false,
  remembersUids: false,
  answers503: false,
  hostNames: false,
  oneTimeLogins: false,
  // A panel keeps nothing of ours but its accounts; the newest one says which uid was given out last.
  keepsCounter: false,
};

export interface CpanelDriverOptions extends WhmSettings, MarkerSettings {
  /** The package of new accounts; without one, the panel's default with the quota of the account. */
  plan: string | undefined;
  ftp: Endpoint;
  web: Endpoint;
  siteDomain: string;
  clock: Clock;
  random: Random;
  log: Log;
  usagePollMs?: number;
}

interface Panel extends CpanelDriverOptions {
  whm: Whm;
  look: Look;
  ftpAccounts: FtpAccounts;
}

/** @param options `ftp` and `web`: where customers find the panel's servers; the API is at `url` */
export function createCpanelDriver(options: CpanelDriverOptions): HostingNode {
  const whm = createWhm(options);
  const look = createLook(whm, options);
  const panel: Panel = { ...options, whm, look, ftpAccounts: new FtpAccounts(whm, options.random) };
  const usage = new UsagePoll(look.list, options.clock, options.usagePollMs ?? usagePollMsDefault);
  const lanes: Lane[] = Array.from({ length: lanesCount }, () => createLane());
  const inTurn = <T>(key: AccountKey, task: () => Promise<T>): Promise<T> => {
    checkKey(key);
    return (lanes[key.uid % lanesCount] as Lane)(task);
  };
  const found = async (key: AccountKey): Promise<PanelAccount> => {
    const account = await look.lookUp(key).catch((error: unknown) => {
      // Of this uid there is nothing, whoever has the identifier.
      if (error instanceof NodeRefused && error.reason === "identifier_taken") return undefined;
      throw error;
    });
    if (!account) throw new NodeRefused("account_unknown");
    return account;
  };
  return {
    capabilities: panelCapabilities,
    ensureAccount: async (account) => {
      checkDesired(account);
      await inTurn(account, () => ensure(panel, account));
    },
    remove: (key) => inTurn(key, () => remove(panel, key)),
    find: async (identifier) => {
      const account = Value.Check(Identifier, identifier) ? await look.find(identifier) : undefined;
      return account && shown(account);
    },
    list: async () => (await look.list()).map(shown),
    highestUid: async () => (await look.list()).reduce((highest, { uid }) => Math.max(highest, uid), 0),
    usageChanges: ({ after, waitMs, signal }) => usage.changes(after, waitMs, signal),
    probe: (key) => inTurn(key, async () => probe(panel, await found(key))),
    oneTimeLogin: async () => {
      throw new NodeRefused("unsupported");
    },
  };
}

async function ensure(panel: Panel, desired: DesiredAccount): Promise<void> {
  const { look, ftpAccounts } = panel;
  const account = (await look.lookUp(desired)) ?? (await create(panel, desired));
  if (!desired.suspended) await resume(panel, account);
  // A panel may refuse to change the FTP accounts of an account that is suspended: done when it is resumed.
  if (!(desired.suspended && account.suspended)) {
    await ftpAccounts.setCustomer(account, desired.ftpEnabled ? desired.passwordHash : undefined);
  }
  await setQuota(panel, account, desired.diskBytesMax);
  if (desired.suspended) await suspend(panel, account);
}

/** The main user's password is known to nobody: customers have an FTP account of their own. */
async function create(panel: Panel, { identifier, uid, diskBytesMax }: DesiredAccount): Promise<PanelAccount> {
  const password = randomPassword(panel.random);
  const told = await attempt(async () => {
    await checkPlan(panel);
    const parameters = {
      username: panelUser(uid),
      domain: panelDomain(identifier, panel.siteDomain),
      password: password.reveal(),
      contactemail: markerOf(panel, uid),
      quota: quotaOf(diskBytesMax),
      hasshell: 0,
      ...(panel.plan !== undefined && { plan: panel.plan }),
    };
    return panel.whm.call("createacct", parameters, [password]);
  });
  const account = await panel.look.lookUp({ identifier, uid });
  if (account) return account;
  // Accounts of other owners cannot be looked at: that one of them is in the way stands in the answer alone.
  if (told instanceof Refusal && /already|exists|taken|in use/i.test(told.message)) {
    throw new NodeRefused("identifier_taken");
  }
  throw told ?? new NodeUnavailable("the panel made the account, and does not show it");
}

const Packages = Type.Object({ pkg: Type.Array(Type.Object({ name: Type.String() })) });

/** @throws NodeUnavailable that says what to do, when the node's package is not there */
async function checkPlan({ whm, plan }: Panel): Promise<void> {
  if (plan === undefined) return;
  const answer = await whm.call("listpkgs", {});
  if (!answer.isOk) throw new NodeUnavailable(`the panel does not list packages: ${answer.reason}`);
  const isThere = parse(Packages, answer.data, "listpkgs").pkg.some(({ name }) => name === plan);
  if (!isThere) throw new NodeUnavailable(`the panel has no package ${plan}: make it there, or add the node anew`);
}

async function setQuota(panel: Panel, account: PanelAccount, diskBytesMax: number): Promise<void> {
  const quota = quotaOf(diskBytesMax);
  if (account.diskBytesMax === quota * mebibyte) return;
  await bring(
    panel,
    account,
    () => panel.whm.call("editquota", { user: account.user, quota }),
    (now) => now?.diskBytesMax === quota * mebibyte,
  );
}

/** Open sessions end before: a suspended account's user may not be asked to. */
async function suspend(panel: Panel, account: PanelAccount): Promise<void> {
  if (account.suspended) return;
  await panel.ftpAccounts.endSessions(account);
  const parameters = { user: account.user, reason: suspendReason, "leave-ftp-accts-enabled": 0 };
  await bring(
    panel,
    account,
    () => panel.whm.call("suspendacct", parameters),
    (now) => now?.suspended === true,
  );
}

async function resume(panel: Panel, account: PanelAccount): Promise<void> {
  if (!account.suspended) return;
  await bring(
    panel,
    account,
    () => panel.whm.call("unsuspendacct", { user: account.user }),
    (now) => now?.suspended === false,
  );
}

async function remove(panel: Panel, key: AccountKey): Promise<void> {
  const account = await panel.look.lookUp(key).catch((error: unknown) => {
    // Others have the identifier or the user's name: of this account there is nothing left.
    if (error instanceof NodeRefused) return undefined;
    throw error;
  });
  if (!account) return;
  await bring(
    panel,
    account,
    () => panel.whm.call("removeacct", { username: account.user, keepdns: 0 }),
    (now) => now === undefined,
  );
}

async function probe(panel: Panel, account: PanelAccount): Promise<void> {
  if (account.suspended) throw new NodeRefused("suspended");
  await panel.ftpAccounts.withProbeLogin(account, (user, password) =>
    probeAccount({
      ...panel,
      identifier: account.identifier,
      folder: "/",
      login: { user, password, authority: panel.ca },
    }),
  );
}

/** Asks for a change, and looks whether it has come about, whatever was answered. @throws NodeUnavailable */
async function bring(
  panel: Panel,
  key: AccountKey,
  run: () => Promise<WhmAnswer>,
  isDone: (now: PanelAccount | undefined) => boolean,
): Promise<void> {
  const told = await attempt(run);
  if (isDone(await panel.look.lookUp(key))) return;
  throw told ?? new NodeUnavailable("the panel says that it is done, and it is not");
}

class Refusal extends NodeUnavailable {}

/** Returns why it may not have been done; nothing when the panel says that it was. */
async function attempt(run: () => Promise<WhmAnswer>): Promise<NodeUnavailable | undefined> {
  try {
    const answer = await run();
    return answer.isOk ? undefined : new Refusal(`the panel refused: ${answer.reason}`);
  } catch (error) {
    if (error instanceof NodeUnavailable) return error;
    throw error;
  }
}

/** Never less than what was bought; 0 would be unlimited. */
function quotaOf(diskBytesMax: number): number {
  return Math.max(1, Math.ceil(diskBytesMax / mebibyte));
}

/** Files and sessions have no limit of ours, and whether FTP is open is not asked for each: `capabilities` says so. */
function shown({ identifier, uid, suspended, bytesUsed, filesUsed, diskBytesMax }: PanelAccount): NodeAccount {
  const unlimited = Number.MAX_SAFE_INTEGER;
  return {
    ...{ identifier, uid, suspended, diskBytesMax: diskBytesMax ?? unlimited },
    ...{ filesMax: unlimited, sessionsMax: unlimited, ftpEnabled: true, hostNames: [] },
    usage: { bytes: bytesUsed, files: filesUsed },
  };
}

function checkKey({ identifier, uid }: AccountKey): void {
  if (!Value.Check(Identifier, identifier) || !Value.Check(Uid, uid)) throw new NodeRefused("invalid");
}

function checkDesired(account: DesiredAccount): void {
  checkKey(account);
  const hash: Secret | undefined = account.passwordHash;
  if (hash && !Value.Check(PasswordHash, hash.reveal())) throw new NodeRefused("invalid");
}
