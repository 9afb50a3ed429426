/**
 * The driver of a node that is a cPanel & WHM server. The panel's answer never proves a change. The driver reads the account
 * before, so that it repeats nothing and changes no foreign account, and after, since an answer can get lost. It touches
 * only accounts that carry our marker for this uid and identifier.
 */
import { Type } from "typebox";
import { Value } from "typebox/value";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { createSerialQueue, type SerialQueue } from "#lib/queues/serial-queue.ts";
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
/** Operations on one account run one after the other; accounts share queues. */
const queuesCount = 64;
const suspendReason = "Suspended by its reseller";

export const panelCapabilities: Capabilities = {
  diskUnitBytes: mebibyte,
  limitsFilesAndSessions: false,
  showsFtp: false,
  remembersUids: false,
  answers503: false,
  hostNames: false,
  oneTimeLogins: false,
  // A panel stores nothing of ours but accounts; the newest one shows the last uid that was issued.
  keepsCounter: false,
};

export interface CpanelDriverOptions extends WhmSettings, MarkerSettings {
  /** The package of new accounts. Default: the panel's default with the account's quota. */
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

/** @param options `ftp` and `web`: the panel's servers as customers reach them; the API is at `url` */
export function createCpanelDriver(options: CpanelDriverOptions): HostingNode {
  const whm = createWhm(options);
  const look = createLook(whm, options);
  const panel: Panel = { ...options, whm, look, ftpAccounts: new FtpAccounts(whm, options.random) };
  const usage = new UsagePoll(look.list, options.clock, options.usagePollMs ?? usagePollMsDefault);
  const queues: SerialQueue[] = Array.from({ length: queuesCount }, () => createSerialQueue());
  const inTurn = <T>(key: AccountKey, task: () => Promise<T>): Promise<T> => {
    checkKey(key);
    return (queues[key.uid % queuesCount] as SerialQueue)(task);
  };
  const found = async (key: AccountKey): Promise<PanelAccount> => {
    const account = await look.lookUp(key).catch((error: unknown) => {
      // No account has this uid; another one has the identifier.
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
  // A panel may refuse to change the FTP accounts of a suspended account: this happens when the account is resumed.
  if (!(desired.suspended && account.suspended)) {
    await ftpAccounts.setCustomer(account, desired.ftpEnabled ? desired.passwordHash : undefined);
  }
  await setQuota(panel, account, desired.diskBytesMax);
  if (desired.suspended) await suspend(panel, account);
}

/** The main user's password is not kept: customers have a separate FTP account. */
async function create(panel: Panel, { identifier, uid, diskBytesMax }: DesiredAccount): Promise<PanelAccount> {
  const password = randomPassword(panel.random);
  const failure = await attempt(async () => {
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
  // Accounts of other owners cannot be read: only the answer shows that one of them conflicts.
  if (failure instanceof Refusal && /already|exists|taken|in use/i.test(failure.message)) {
    throw new NodeRefused("identifier_taken");
  }
  throw failure ?? new NodeUnavailable("the panel reports that it created the account, but does not list it");
}

const Packages = Type.Object({ pkg: Type.Array(Type.Object({ name: Type.String() })) });

/** @throws NodeUnavailable that says what to do, when the node's package does not exist */
async function checkPlan({ whm, plan }: Panel): Promise<void> {
  if (plan === undefined) return;
  const answer = await whm.call("listpkgs", {});
  if (!answer.isOk) throw new NodeUnavailable(`the panel does not list packages: ${answer.reason}`);
  const isThere = parse(Packages, answer.data, "listpkgs").pkg.some(({ name }) => name === plan);
  if (!isThere) throw new NodeUnavailable(`the panel has no package ${plan}: create it there, or add the node again`);
}

async function setQuota(panel: Panel, account: PanelAccount, diskBytesMax: number): Promise<void> {
  const quota = quotaOf(diskBytesMax);
  if (account.diskBytesMax === quota * mebibyte) return;
  await changeTo(
    panel,
    account,
    () => panel.whm.call("editquota", { user: account.user, quota }),
    (now) => now?.diskBytesMax === quota * mebibyte,
  );
}

/** Ends open sessions first: the panel may refuse that for the user of a suspended account. */
async function suspend(panel: Panel, account: PanelAccount): Promise<void> {
  if (account.suspended) return;
  await panel.ftpAccounts.endSessions(account);
  const parameters = { user: account.user, reason: suspendReason, "leave-ftp-accts-enabled": 0 };
  await changeTo(
    panel,
    account,
    () => panel.whm.call("suspendacct", parameters),
    (now) => now?.suspended === true,
  );
}

async function resume(panel: Panel, account: PanelAccount): Promise<void> {
  if (!account.suspended) return;
  await changeTo(
    panel,
    account,
    () => panel.whm.call("unsuspendacct", { user: account.user }),
    (now) => now?.suspended === false,
  );
}

async function remove(panel: Panel, key: AccountKey): Promise<void> {
  const account = await panel.look.lookUp(key).catch((error: unknown) => {
    // Another account has the identifier or the user name: nothing is left of this one.
    if (error instanceof NodeRefused) return undefined;
    throw error;
  });
  if (!account) return;
  await changeTo(
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

/** Requests a change, and checks whether it happened, whatever the answer was. @throws NodeUnavailable */
async function changeTo(
  panel: Panel,
  key: AccountKey,
  run: () => Promise<WhmAnswer>,
  isDone: (now: PanelAccount | undefined) => boolean,
): Promise<void> {
  const failure = await attempt(run);
  if (isDone(await panel.look.lookUp(key))) return;
  throw failure ?? new NodeUnavailable("the panel reports success, but the account has not changed");
}

class Refusal extends NodeUnavailable {}

/** @returns why the change may not have happened; undefined when the panel reports success */
async function attempt(run: () => Promise<WhmAnswer>): Promise<NodeUnavailable | undefined> {
  try {
    const answer = await run();
    return answer.isOk ? undefined : new Refusal(`the panel refused: ${answer.reason}`);
  } catch (error) {
    if (error instanceof NodeUnavailable) return error;
    throw error;
  }
}

/** Rounds up. 0 would mean unlimited. */
function quotaOf(diskBytesMax: number): number {
  return Math.max(1, Math.ceil(diskBytesMax / mebibyte));
}

/** Panels limit neither files nor sessions for us, and FTP's state is not read per account: see `capabilities`. */
function shown({ identifier, uid, suspended, bytesUsed, filesUsed, diskBytesMax }: PanelAccount): NodeAccount {
  const unlimited = Number.MAX_SAFE_INTEGER;
  return {
    identifier,
    uid,
    suspended,
    diskBytesMax: diskBytesMax ?? unlimited,
    filesMax: unlimited,
    sessionsMax: unlimited,
    ftpEnabled: true,
    hostNames: [],
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
