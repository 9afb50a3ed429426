/** What the registry's result codes mean for an order (RFC 5730 §3). */
import type { KindName } from "#domains/orders/order.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Each is an event of an order. */
export type Meaning =
  | "answered"
  | "pending"
  /** The order itself cannot be carried out. */
  | "rejected"
  /** What `<info>` showed may be outdated, or a host or a contact gone. */
  | "disputed"
  | "failed"
  | "out-of-credit"
  | "not-executed"
  /** Says nothing about whether the command was executed. */
  | "unanswered";

type Codes = Partial<Record<Meaning, readonly number[]>>;

const usual: Codes = {
  answered: [1000],
  pending: [1001],
  rejected: [2001, 2003, 2004, 2005, 2308],
  disputed: [2201, 2302, 2303, 2305, 2306],
  failed: [2100, 2101, 2102, 2103, 2105, 2106, 2304, 2307],
  "out-of-credit": [2104],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
};

/** Where a code means something else for a kind. */
const ofKinds: Partial<Record<KindName, Codes>> = {
  create: { rejected: [2303, 2304, 2305, 2306], failed: [2201] },
  // 1001: the deletion has begun (RFC 5731 §3.2.2). 2304: an earlier delete, whose answer was lost, may prohibit this one.
  delete: { answered: [1001], disputed: [2304] },
  // Registries answer so to a curExpDate that is not their exDate, among other things.
  renew: { disputed: [2004, 2105, 2304] },
  // A restore is pending by its nature. 2304: an earlier command may have moved the name on. 2004: its price may have changed since it
  // was asked (RFC 8748 §4).
  restore: { answered: [1001], disputed: [2004, 2304] },
  // 1001: the answer is still to be carried out. 2301: no transfer is pending.
  "transfer-answer": { answered: [1001], disputed: [2301] },
};

/** The words of registry profiles that are not meanings. */
const wordsOfProfiles: Readonly<Record<string, Meaning>> = {
  created: "answered",
  "create-pending": "pending",
  exists: "disputed",
  "operator-needed": "failed",
};

const isMeaning = (word: string): word is Meaning => word in usual || word === "unanswered";

/** Refused because of our configuration. */
export const configurationCodes: readonly number[] = [2100, 2101, 2102, 2103, 2307];

const findIn = (codes: Codes | undefined, code: number) =>
  (Object.keys(codes ?? {}) as Meaning[]).find((meaning) => codes?.[meaning]?.includes(code));

/** An unknown code is treated like a lost answer: `<info>` decides. */
export function meaningOf(
  code: number,
  kind: KindName,
  { resultCodes, renewalResultCodes }: Pick<RegistryProfile, "resultCodes" | "renewalResultCodes">,
): Meaning {
  const ofProfile = kind === "create" ? resultCodes : kind === "renew" ? renewalResultCodes : {};
  const word = ofProfile[String(code)] ?? "";
  const own = wordsOfProfiles[word] ?? (isMeaning(word) ? word : undefined);
  return own ?? findIn(ofKinds[kind], code) ?? findIn(usual, code) ?? "unanswered";
}

/** Whether the registry has certainly not executed the command. */
export const isRefusal = (meaning: Meaning): boolean =>
  meaning !== "answered" && meaning !== "pending" && meaning !== "unanswered";
