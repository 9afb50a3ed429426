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

/** What the first label of a name asks of the registry. All but `means` is optional: absent is what any name gets. */
export interface LabelEffect {
  /** The other registrar holds the name, without anyone having registered it. */
  held?: true;
  /** `<check>` answers avail="0" with this reason. */
  checkReason?: string;
  /** `<create>` is refused with this code. */
  createCode?: ResultCode;
  /** The other registrar registers the name just before this create. */
  raced?: true;
  /** `<create>` answers 1001 and this is decided later; for "undo" it answers nothing and is undone later. */
  scheduled?: ScheduledAction["action"];
  /** What becomes of the answer to `<create>`, and to `<check>` where `alsoOnCheck` says so. */
  delivery?: Delivery;
  alsoOnCheck?: true;
  /** All of this is for the first create of a name only. */
  once?: true;
}

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

function refusing(form: string, means: string, once: boolean): Label {
  const pattern = new RegExp(`^${form.replace("<nnnn>", "(\\d{4})")}`);
  const effect = (code: number): LabelEffect | undefined =>
    isRefusalCode(code) ? { createCode: code, ...(once && { once }) } : undefined;
  return { form, pattern, means, effect };
}

/** Every label that makes a name special, in the order they are tried. A new one is a line here and in the README. */
export const labels: readonly Label[] = [
  fixed("taken-", "held by another registrar: check avail=0 In use, create 2302, info shows the holder", {
    held: true,
  }),
  fixed("reserved-", "check avail=0 Reserved, create 2304", { checkReason: "Reserved", createCode: 2304 }),
  fixed("reserved2302-", "check says available, create 2302 all the same, info 2303", { createCode: 2302 }),
  fixed("blocked-", "check avail=0 Blocked, create 2306", { checkReason: "Blocked", createCode: 2306 }),
  fixed("premium-", "check avail=0 Premium, create 2306", { checkReason: "Premium", createCode: 2306 }),
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
  fixed("drop-before-", "the first create is not executed, the connection dies", {
    delivery: { kind: "drop-before" },
    once: true,
  }),
  fixed("drop-after-", "the first create is executed, the connection dies without an answer", {
    delivery: { kind: "drop-after" },
    once: true,
  }),
  fixed("undo-after-", "as drop-after-, and the registry undoes the create after undoDelayMs (RFC 5734 §3)", {
    delivery: { kind: "drop-after" },
    scheduled: "undo",
    once: true,
  }),
  fixed("garbage-", "the first create is executed, its answer is not XML", {
    delivery: { kind: "garbage" },
    once: true,
  }),
  fixed("trid-", "the first create is executed, its answer has another clTRID", {
    delivery: { kind: "wrong-trid" },
    once: true,
  }),
  fixed("short-", "the first create is executed, half of its answer arrives", {
    delivery: { kind: "short" },
    once: true,
  }),
  fixed("dribble-", "the answers to check and create arrive one byte at a time", {
    delivery: { kind: "dribble" },
    alsoOnCheck: true,
  }),
  {
    form: "late-",
    pattern: /^late-/,
    means: "the first create is executed, its answer comes after lateMs",
    effect: (_number, { lateMs }) => ({ delivery: { kind: "delay", delayMs: lateMs }, once: true }),
  },
  {
    form: "slow-<ms>-",
    pattern: /^slow-(\d{1,6})-/,
    means: "the answers to check and create come so many milliseconds later (at most slowMsMax)",
    effect: (number, { slowMsMax }) => ({
      delivery: { kind: "delay", delayMs: Math.min(number, slowMsMax) },
      alsoOnCheck: true,
    }),
  },
  refusing("code-<nnnn>-", "every create is refused with this code (2000 to 2502)", false),
  refusing("once-<nnnn>-", "the first create is refused with this code, later ones are normal", true),
];

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
