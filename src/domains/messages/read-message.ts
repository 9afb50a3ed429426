/**
 * What a message of a registry is, and what follows: it is applied to our rows, told (to a name's history and the log), or kept. Only
 * what a person must do or find out raises an alarm.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import {
  describeChange,
  describeNotice,
  findToldNames,
  namesInText,
  namesOf,
  servedNames,
  type Told,
  tell,
} from "#domains/messages/told-names.ts";
import { readTransferMessage } from "#domains/messages/transfer-messages.ts";
import type { Woken } from "#domains/messages/wake-order.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { BalanceData } from "#registry/epp/commands/messages/balance-data.ts";
import { namesAt } from "#registry/epp/commands/messages/named-data.ts";
import type { ToldObject } from "#registry/epp/commands/messages/told-objects.ts";
import type { PollMessage } from "#registry/epp/commands/session/poll-request.ts";
import { compileRules, type FindRule, type MessageRule, outcomeField } from "#registry/message-rules.ts";

type Effect = (tx: Transaction) => Promise<void>;

export interface Reading {
  /** "pending-action", "transfer", "change", "object", "balance", "notice"; for what nothing here reads, the name of its data. */
  kind: string;
  outcome: "applied" | "told" | "kept";
  /** The name that it is about, if there is one. */
  domainName?: string | undefined;
  /** Why this message needs a person: an alarm of its own. */
  doubt?: string | undefined;
  /** Messages of this kind need a person: one alarm for all of them. */
  isUnexplained?: boolean;
  /** What it changes, in the transaction that stores it. */
  effects: Effect[];
}

/** Asks the registry where a message must agree with it, and changes nothing yet but the time of a next step. */
export async function readMessage(
  sessions: RegistrySessions,
  message: PollMessage,
  woken: Extract<Woken, { is: "woken" }> | undefined,
): Promise<Reading> {
  const { panData, trnData, balance, told, changeData } = message;
  const [transfer, pendingAction] = [await readTransfer(sessions, message), readPending(message, woken)];
  const typed = [transfer, pendingAction].filter((reading) => reading !== undefined);
  if (changeData && told) typed.push(await readChange(sessions, message, told));
  // Some registries send a transfer's data with those of its pending command: one that is explained explains the message.
  const explained = typed.filter(({ isUnexplained }) => !isUnexplained);
  const [first = typed[0]] = explained;
  if (first) {
    const doubt = transfer?.isUnexplained === false ? undefined : first.doubt;
    return { ...first, doubt, effects: typed.flatMap(({ effects }) => effects) };
  }
  if (balance) return readBalance(sessions, balance);
  if (told && !panData && !trnData && !message.named) return readObject(sessions, message, told);
  return readNotice(sessions, message);
}

async function readTransfer(
  sessions: RegistrySessions,
  { trnData, queuedAt }: PollMessage,
): Promise<Reading | undefined> {
  if (!trnData) return undefined;
  const effect = await readTransferMessage(sessions, trnData, queuedAt);
  const domainName = trnData.object === "domain" ? trnData.id.toLowerCase() : undefined;
  if (!effect) return { kind: "transfer", outcome: "kept", isUnexplained: true, domainName, effects: [] };
  return { kind: "transfer", outcome: "applied", isUnexplained: false, domainName, effects: [effect] };
}

function readPending(
  { panData }: PollMessage,
  woken: Extract<Woken, { is: "woken" }> | undefined,
): Reading | undefined {
  if (!panData) return undefined;
  const domainName = panData.object === "domain" ? panData.name.toLowerCase() : undefined;
  const reading = { kind: "pending-action", domainName, effects: [] };
  if (!woken) return { ...reading, outcome: "kept", isUnexplained: true };
  return { ...reading, outcome: woken.doubt ? "kept" : "applied", isUnexplained: false, doubt: woken.doubt };
}

/** RFC 8590: the registry has changed, or is about to have changed, an object. */
async function readChange(sessions: RegistrySessions, message: PollMessage, told: ToldObject): Promise<Reading> {
  const note = message.changeData ? describeChange(message.changeData, told) : "";
  return tellObject(sessions, told, "change", { event: "registry-change", note });
}

function readObject(sessions: RegistrySessions, message: PollMessage, told: ToldObject): Promise<Reading> {
  return tellObject(sessions, told, "object", { event: "registry-notice", note: describeNotice(message, told) });
}

async function tellObject(sessions: RegistrySessions, told: ToldObject, kind: string, what: Told): Promise<Reading> {
  const names = namesOf(told);
  const { here, isKnown } = await findToldNames(sessions, names);
  const effects: Effect[] = [(tx) => tell(sessions, tx, here, what)];
  const reading = { kind, domainName: here[0] ?? (told.object === "domain" ? names[0] : undefined), effects };
  if (here.length > 0) return { ...reading, outcome: "told" };
  // The registry may hold this name for us, and nobody has it. Hosts and contacts have no owner that could miss them.
  return { ...reading, outcome: "kept", isUnexplained: told.object === "domain" && !isKnown };
}

function readBalance({ context, profile }: RegistrySessions, { available, threshold, zone }: BalanceData): Reading {
  const limit = profile.balanceAlarmAt ?? threshold;
  const isLow = available <= limit;
  const subject = zone === undefined ? profile.id : `${profile.id}/${zone.slice(0, 63)}`;
  const note = `our account has a balance of ${available}, at or below ${limit}`;
  const effect: Effect = async (tx) => {
    if (isLow) await raiseAlarm(context, { kind: "balance", subject, note }, tx);
    else await resolveAlarm(context, { kind: "balance", subject }, tx);
  };
  return { kind: "balance", outcome: "applied", effects: [effect] };
}

const rulesOf = new WeakMap<readonly MessageRule[], FindRule>();

async function readNotice(sessions: RegistrySessions, message: PollMessage): Promise<Reading> {
  const { messages: rules, suffixes } = sessions.profile;
  const findRule = rulesOf.get(rules) ?? compileRules(rules);
  rulesOf.set(rules, findRule);
  const rule = findRule(message);
  const kind = message.dataNames[0] ?? "notice";
  const named = rule?.data && rule.names ? namesAt(message.data, rule.data, rule.names) : message.named?.names;
  switch (rule?.[outcomeField] ?? (named && "named")) {
    case "tell": {
      const names = [...new Set([...servedNames(named ?? [], suffixes), ...namesInText(message.text, suffixes)])];
      const { here } = await findToldNames(sessions, names);
      const what: Told = { event: "registry-notice", note: describeNotice(message) };
      return { kind, outcome: "told", domainName: here[0], effects: [(tx) => tell(sessions, tx, here, what)] };
    }
    case "named":
      return readNamed(sessions, message, { kind, names: servedNames(named ?? [], suffixes) });
    case "keep":
      return { kind, outcome: "kept", effects: [] };
    case "alarm":
      return { kind: `rule ${rule?.match ?? rule?.data}`, outcome: "kept", isUnexplained: true, effects: [] };
    default:
      return { kind, outcome: "kept", isUnexplained: true, effects: [] };
  }
}

/** Tells the names in data of a known form. The registry may hold a name for us that nobody has here: a person must find out. */
async function readNamed(
  sessions: RegistrySessions,
  message: PollMessage,
  { kind, names }: { kind: string; names: string[] },
): Promise<Reading> {
  const { here, strangers } = await findToldNames(sessions, names);
  const what: Told = { event: "registry-notice", note: describeNotice(message) };
  const isExplained = names.length > 0 && strangers.length === 0;
  return {
    kind,
    outcome: isExplained && here.length > 0 ? "told" : "kept",
    domainName: here[0] ?? names[0],
    isUnexplained: !isExplained,
    effects: [(tx) => tell(sessions, tx, here, what)],
  };
}
