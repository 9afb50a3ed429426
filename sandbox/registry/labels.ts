import type { ScheduledAction } from "./objects.ts";
import { isRefusalCode, type ResultCode } from "./result-codes.ts";
import type { Settings } from "./settings.ts";

/** What happens to the answer of a marked command, on its way to the client. */
export type Delivery =
  | { kind: "normal" }
  /** The connection dies before the command is executed. */
  | { kind: "drop-before" }
  /** The command is executed, then the connection dies. */
  | { kind: "drop-after" }
  | { kind: "delay"; delayMs: number }
  /** A well-framed answer that is not XML. */
  | { kind: "garbage" }
  /** The answer carries a clTRID that the client never sent. */
  | { kind: "wrong-trid" }
  /** Half of the answer, then the connection dies. */
  | { kind: "short" }
  /** The answer one byte at a time. */
  | { kind: "dribble" };

/** What the first label of a name asks of the registry. All is optional: absent is what any name gets. */
export interface LabelEffect {
  /** The command that it is about; absent: create. */
  verb?: LabelledVerb;
  /** The other registrar holds the name, without anyone having registered it. */
  held?: true;
  /** `<check>` answers avail="0" with this reason. */
  checkReason?: string;
  /** The command is refused with this code. */
  refusalCode?: ResultCode;
  /** A client that has the fee extension can register the name at a price of its own (RFC 8748). */
  isPremium?: true;
  /** The other registrar registers the name just before this create. */
  raced?: true;
  /** `<create>` answers 1001 and this is decided later; for "undo" it answers nothing and is undone later. */
  scheduled?: ScheduledAction["action"];
  /** Its registrar may delete the name while its create is pending. */
  deletable?: true;
  /** What becomes of the answer to the command, and to `<check>` where `alsoOnCheck` says so. */
  delivery?: Delivery;
  alsoOnCheck?: true;
  /** All of this is for the first such command on a name only. */
  once?: true;
}

/** The commands that have labels of their own: `renew-late-` is to renew what `late-` is to create. */
type LabelledVerb = "create" | "renew" | "delete";

interface Label {
  /** As the README and people write it. */
  form: string;
  /** Matches the beginning of a name; a number in it is the first group. */
  pattern: RegExp;
  means: string;
  /** The effect, or nothing if the number is one the label does not take. */
  effect: (number: number, settings: Settings) => LabelEffect | undefined;
}

function fixed(form: string, means: string, effect: LabelEffect): Label {
  return { form, pattern: new RegExp(`^${form}`), means, effect: () => effect };
}

/** The labels about one command going wrong, the same for each verb: `drop-after-`, `renew-drop-after-` … */
function mishaps(verb: LabelledVerb): Label[] {
  const prefix = verb === "create" ? "" : `${verb}-`;
  const spoiling = (form: string, becomes: string, delivery: Delivery): Label =>
    fixed(`${prefix}${form}`, `the first ${verb} ${becomes}`, { verb, delivery, once: true });
  const refusing = (form: string, means: string, effect: LabelEffect): Label => ({
    form: `${prefix}${form}-<nnnn>-`,
    pattern: new RegExp(`^${prefix}${form}-(\\d{4})-`),
    means,
    effect: (code) => (isRefusalCode(code) ? { verb, refusalCode: code, ...effect } : undefined),
  });
  return [
    spoiling("drop-before-", "is not executed, the connection dies", { kind: "drop-before" }),
    spoiling("drop-after-", "is executed, the connection dies without an answer", { kind: "drop-after" }),
    spoiling("garbage-", "is executed, its answer is not XML", { kind: "garbage" }),
    spoiling("trid-", "is executed, its answer has another clTRID", { kind: "wrong-trid" }),
    spoiling("short-", "is executed, half of its answer arrives", { kind: "short" }),
    {
      form: `${prefix}late-`,
      pattern: new RegExp(`^${prefix}late-`),
      means: `the first ${verb} is executed, its answer comes after lateMs`,
      effect: (_number, { lateMs }) => ({ verb, delivery: { kind: "delay", delayMs: lateMs }, once: true }),
    },
    refusing("code", `every ${verb} is refused with this code (2000 to 2502)`, {}),
    refusing("once", `the first ${verb} is refused with this code, later ones are normal`, { once: true }),
  ];
}

/** Every label that makes a name special, in the order they are tried. A new one is a line here and in the README. */
export const labels: readonly Label[] = [
  fixed("taken-", "held by another registrar: check avail=0 In use, create 2302, info shows the holder", {
    held: true,
  }),
  fixed("reserved-", "check avail=0 Reserved, create 2304", { checkReason: "Reserved", refusalCode: 2304 }),
  fixed("reserved2302-", "check says available, create 2302 all the same, info 2303", { refusalCode: 2302 }),
  fixed("blocked-", "check avail=0 Blocked, create 2306", { checkReason: "Blocked", refusalCode: 2306 }),
  fixed("premium-", "check avail=0 Premium, create 2306; with the fee extension, a price of its own", {
    checkReason: "Premium",
    refusalCode: 2306,
    isPremium: true,
  }),
  fixed("race-", "check says available, but another registrar is first: create 2302", { raced: true }),
  fixed("pending-approve-", "create 1001, approved after pendingDelayMs: poll message, status ok", {
    scheduled: "approve",
  }),
  fixed("pending-deny-", "create 1001, denied after pendingDelayMs: poll message, the name is free", {
    scheduled: "deny",
  }),
  fixed("pending-lost-", "create 1001, approved after pendingDelayMs, but no poll message tells so", {
    scheduled: "lose",
  }),
  fixed("pending-never-", "create 1001, never decided", { scheduled: "never" }),
  fixed("pending-deletable-", "create 1001, never decided, but its registrar may delete it (other pendings: 2304)", {
    scheduled: "never",
    deletable: true,
  }),
  fixed("undo-after-", "as drop-after-, and the registry undoes the create after undoDelayMs (RFC 5734 §3)", {
    delivery: { kind: "drop-after" },
    scheduled: "undo",
    once: true,
  }),
  fixed("dribble-", "the answers to check and create arrive one byte at a time", {
    delivery: { kind: "dribble" },
    alsoOnCheck: true,
  }),
  {
    form: "slow-<ms>-",
    pattern: /^slow-(\d+)-/,
    means: "the answers to check and create come so many milliseconds later (at most slowMsMax)",
    effect: (number, { slowMsMax }) => ({
      delivery: { kind: "delay", delayMs: Math.min(number, slowMsMax) },
      alsoOnCheck: true,
    }),
  },
  ...mishaps("create"),
  ...mishaps("renew"),
  ...mishaps("delete"),
];

/** The reason of a refusal that has no other. */
export const askedByLabel = "the beginning of the name asks for it";

export const noEffect: LabelEffect = {};

/** What the beginning of `name` asks for; nothing special for most names. */
export function effectOf(name: string, settings: Settings): LabelEffect {
  for (const label of labels) {
    const match = label.pattern.exec(name);
    const effect = match && label.effect(Number(match[1]), settings);
    if (effect) return effect;
  }
  return noEffect;
}
