/**
 * The judge of orders about registered names. Its only evidence is the registry's journal and store, and the answers of the API.
 */
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import type { Domain } from "../../sandbox/registry/objects.ts";
import type { Store } from "../../sandbox/registry/store.ts";
import type { ChangeKind } from "./kinds.ts";
import type { Ending } from "./labels.ts";
import { differences, type PortfolioEntry } from "./portfolio.ts";
import { faultOf } from "./subjects.ts";

/** The API's last answers about an order and its name. */
export interface ChangeAnswer {
  name: string;
  orderCode: string;
  status: string;
  isCancelAsked: boolean;
  /** The name at the registry before the order. */
  before: Domain;
  /** Absent: the name is not in the portfolio. */
  entry?: PortfolioEntry | undefined;
}

export interface ChangeEvidence {
  kind: ChangeKind;
  journal: readonly JournalEntry[];
  store: Store;
  lastAnswers: ChangeAnswer[];
}

/** Answers after which a command may have been executed. */
const doubtfulCodes = new Set([2400, 2500]);

/** The mistakes, one sentence each, starting with the name. */
export function judgeChanges({ kind, journal, store, lastAnswers }: ChangeEvidence): string[] {
  const byName = Map.groupBy(journal, ({ name }) => name ?? "");
  return lastAnswers.flatMap((answer) => {
    const entries = byName.get(answer.name) ?? [];
    const about = kind.commands.map(({ about: of }) => of?.(answer.name)).filter((of) => of !== undefined);
    const all = [...entries, ...about.flatMap((of) => byName.get(of) ?? [])].sort(
      (one, other) => one.number - other.number,
    );
    const faults = [...judgeEnd(kind, store, answer), ...judgeCommands(kind, answer, all)];
    return faults.map((fault) => `${answer.name}: ${fault}`);
  });
}

function judgeEnd(
  kind: ChangeKind,
  store: Store,
  { name, status, isCancelAsked, before, entry }: ChangeAnswer,
): string[] {
  const faults: string[] = [];
  const { ends } = faultOf(name);
  const ending: Ending = status === "Processing" || status === "NotProvisioned" ? "for a person" : (status as Ending);
  if (!ends.includes(ending) && !(ending === "Cancelled" && isCancelAsked)) {
    const wrong = `${status}, where only ${ends.join(", ")} is right`;
    faults.push(ending === "for a person" ? `lost: still ${status}` : wrong);
  }
  const domain = store.domains.find(name);
  const isDone = kind.isDone({ store, name, domain }, before);
  if (status === "Finished" && !isDone) faults.push("Finished, but the registry does not show it");
  if (status !== "Finished" && isDone) faults.push(`${status}, but the registry shows it as done`);
  return [...faults, ...differences(store, domain, entry)];
}

/** Nothing was sent before the outcome of the previous command was known, and no command was executed twice. */
function judgeCommands(kind: ChangeKind, { orderCode }: ChangeAnswer, entries: readonly JournalEntry[]): string[] {
  const faults: string[] = [];
  const clTrids = new Set<string>();
  const standing = new Map<string, number>();
  let isOpen = false;
  for (const entry of entries) {
    const { direction, code = 0, executed, clTRID = "", command = "" } = entry;
    if (direction === "event" && command.endsWith(":deny")) standing.clear();
    // Whatever the registry shows of the name or its host, what was sent before has arrived, or is lost.
    if (direction === "out" && /:(info|transfer)$/.test(command) && code < 2400) isOpen = false;
    if (!isTransform(entry)) continue;
    if (direction === "out" && code >= 2000 && !doubtfulCodes.has(code)) isOpen = false;
    if (direction !== "in") continue;
    if (isOpen) faults.push(`a ${command} was sent while it was not known what the command before had done`);
    isOpen = true;
    if (clTrids.has(clTRID)) faults.push(`clTRID ${clTRID} was sent twice`);
    if (!clTRID.startsWith(`${orderCode}-`)) faults.push(`a ${command} that is not the order's: ${clTRID}`);
    clTrids.add(clTRID);
    if (!executed) continue;
    const what = operationOf(entry);
    standing.set(what, (standing.get(what) ?? 0) + 1);
    if (kind.isOnce && standing.get(what)! > 1) faults.push(`${what} was executed twice`);
  }
  return faults;
}

const isTransform = ({ command = "", xml = "" }: JournalEntry) =>
  /:(create|update|renew|delete)$/.test(command) || (command === "domain:transfer" && !/op="query"/.test(xml));

/** A restore is an update in the journal. */
function operationOf({ command = "", xml = "" }: JournalEntry): string {
  const restore = /<[^>]*restore[^>]* op="(\w+)"/.exec(xml)?.[1];
  return restore ? `domain:restore-${restore}` : command;
}
