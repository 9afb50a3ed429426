/**
 * The judge of the fault matrix. Its only evidence is the registry's journal and store, and the answers of the API: not our
 * database, and not our logs.
 */
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import type { Domain } from "../../sandbox/registry/objects.ts";
import { registrarId } from "../harness/profiles.ts";
import type { Ending } from "./labels.ts";
import { faultOf } from "./subjects.ts";

/** The API's last answers about a name. */
export interface LastAnswer {
  name: string;
  orderCode: string;
  status: string;
  /** The date in the portfolio; absent if the name is not in it. */
  expirationDate?: string | undefined;
  /** Whether a cancellation was requested. */
  isCancelAsked?: boolean;
}

export interface Evidence {
  journal: readonly JournalEntry[];
  domains: readonly Domain[];
  lastAnswers: readonly LastAnswer[];
}

/** The authInfo of a name that a person registered for us, without this gateway. */
export const byHandAuthInfo = "made-by-hand-1";

/** Answers after which the create may have been executed. */
const doubtfulCodes = new Set([2400, 2500]);

/** After this many creates without a trace a person decides. */
const lostCreatesMax = 5;

/** The mistakes, one sentence each, starting with the name. */
export function judge({ journal, domains, lastAnswers }: Evidence): string[] {
  const ours = new Map(domains.filter(({ clID }) => clID === registrarId).map((domain) => [domain.name, domain]));
  const byName = Map.groupBy(journal, ({ name }) => name ?? "");
  const found = lastAnswers.flatMap((order) => [
    ...judgeEnd(order, ours.get(order.name), byName.get(order.name) ?? []),
    ...judgeCreates(order, byName.get(order.name) ?? [], ours.get(order.name)),
  ]);
  const known = new Set(lastAnswers.map(({ name }) => name));
  const unexplained = [...ours.keys()].filter((name) => !known.has(name));
  return [...found, ...unexplained.map((name) => `${name}: held for us, and no order knows it`)];
}

function judgeEnd(
  { name, status, expirationDate, isCancelAsked }: LastAnswer,
  held: Domain | undefined,
  entries: readonly JournalEntry[],
): string[] {
  const faults: string[] = [];
  const isByHand = held?.authInfo === byHandAuthInfo;
  const isPendingThere = held?.statuses.includes("pendingCreate") ?? false;
  const { ends } = faultOf(name);
  const ending: Ending = status === "Processing" || status === "NotProvisioned" ? "for a person" : (status as Ending);
  const isExplained =
    (ending === "Cancelled" && isCancelAsked) || (ending === "for a person" && isLostTooOften(entries));
  if (!ends.includes(ending) && !isExplained) {
    faults.push(
      ending === "for a person" ? `lost: still ${status}` : `${status}, where only ${ends.join(", ")} is right`,
    );
  }
  if (status === "Finished" && (!held || isPendingThere || isByHand))
    faults.push("Finished, but not registered for us");
  if (status === "Pending" && !isPendingThere) faults.push("Pending, but the registry waits for nothing");
  if (status !== "Finished" && status !== "Pending" && held && !isByHand) faults.push(`held for us, but ${status}`);
  if (expirationDate !== (status === "Finished" ? held?.exDate : undefined)) {
    faults.push(`the portfolio says ${expirationDate ?? "nothing"}, the registry ${held?.exDate ?? "nothing"}`);
  }
  return faults.map((fault) => `${name}: ${fault}`);
}

/** On a busy machine that many creates may be lost with any fault (event absent). */
function isLostTooOften(entries: readonly JournalEntry[]): boolean {
  return entries.filter(isNotFound).length >= lostCreatesMax;
}

const isNotFound = ({ command, direction, code }: JournalEntry) =>
  command === "domain:info" && direction === "out" && code === 2303;

/** Every executed create stands or was undone, and no create was sent before the outcome of the previous one was known. */
function judgeCreates(
  { name, orderCode }: LastAnswer,
  entries: readonly JournalEntry[],
  held: Domain | undefined,
): string[] {
  const faults: string[] = [];
  const clTrids = new Set<string>();
  let standing = 0;
  let isOpen = false;
  for (const entry of entries) {
    const { command, direction, code, executed, clTRID } = entry;
    if (direction === "event" && (command === "domain:undo" || command === "domain:deny")) standing -= 1;
    if (isNotFound(entry)) isOpen = false;
    if (command === "domain:delete" && executed) standing -= 1;
    if (command !== "domain:create") continue;
    if (direction === "out" && code !== undefined && code >= 2000 && !doubtfulCodes.has(code)) isOpen = false;
    if (direction !== "in") continue;
    if (isOpen) faults.push("a create was sent while it was not known what the one before had done");
    isOpen = true;
    if (clTRID === undefined || clTrids.has(clTRID)) faults.push(`clTRID ${clTRID} was sent twice`);
    if (!clTRID?.startsWith(`${orderCode}-`)) faults.push(`a create that is not the order's: ${clTRID}`);
    clTrids.add(clTRID ?? "");
    if (executed) standing += 1;
    if (standing > 1) faults.push("two creates stand");
  }
  const isHeld = held !== undefined && held.authInfo !== byHandAuthInfo;
  if (standing !== (isHeld ? 1 : 0)) faults.push(`${standing} creates stand, and held for us: ${isHeld}`);
  return faults.map((fault) => `${name}: ${fault}`);
}
