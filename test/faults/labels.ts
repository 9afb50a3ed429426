/** The faults of names, and how an order with each may end, whenever and however often its worker is killed. */
import type { OrderStatus } from "#domains/orders/states.ts";

/** "for a person": still Processing, because only an operator can decide; no create is sent again. */
export type Ending = OrderStatus | "for a person";

/** How far an order with this label gets without a kill. */
export type Reach = "check" | "create" | "object" | "message";

export interface Fault {
  /** The beginning of the domain name: a label of the sandbox registry, or of the matrix itself. */
  label: string;
  ends: readonly Ending[];
  reach: Reach;
}

function faults(reach: Reach, ends: Ending[], labels: string[]): Fault[] {
  return labels.map((label) => ({ label, ends, reach }));
}

const refusals = [2001, 2003, 2004, 2005, 2303, 2304, 2305, 2306, 2308];
const configurationFaults = [2100, 2101, 2102, 2103, 2201, 2307];
const passingRefusals = [2002, 2104, 2200, 2202, 2303, 2400, 2500, 2501, 2502];

/** Another registrar registers the name at the moment of the kill, if it is free. */
export const snipedLabel = "sniped-";
/** The same, after a refused create of ours (event exists). */
const snipedLaterLabel = `once-2200-${snipedLabel}`;
/** A person registers the name for us at the moment of the kill (event unexplained). */
export const byHandLabel = "by-hand-";

/** The labels of the sandbox registry (sandbox/registry/labels.ts), and two of the matrix. */
export const allFaults: readonly Fault[] = [
  ...faults("object", ["Finished"], ["plain-", "dribble-", "slow-150-", "late-"]),
  ...faults("object", ["Finished"], ["drop-after-", "garbage-", "trid-", "short-", "undo-after-"]),
  ...faults("create", ["Finished"], ["drop-before-", ...passingRefusals.map((code) => `once-${code}-`)]),
  ...faults("message", ["Finished"], ["pending-approve-"]),
  ...faults("message", ["Errors"], ["pending-deny-"]),
  ...faults("object", ["Finished"], ["pending-lost-"]),
  ...faults("object", ["Pending"], ["pending-never-"]),
  ...faults("check", ["Errors"], ["taken-"]),
  ...faults("check", ["FailedValidation"], ["reserved-", "blocked-", "premium-"]),
  ...faults("create", ["Errors"], ["race-", "code-2104-", ...configurationFaults.map((code) => `code-${code}-`)]),
  ...faults("create", ["FailedValidation"], ["reserved2302-", ...refusals.map((code) => `code-${code}-`)]),
  // Each create may have been executed, so a person decides after five without a trace (event absent).
  ...faults("create", ["for a person"], ["code-2400-", "code-2500-"]),
  ...faults("create", ["Finished", "Errors"], [snipedLabel, snipedLaterLabel]),
  ...faults("create", ["Finished", "Errors", "for a person"], [byHandLabel]),
];
