import { setImmediate as nextTurn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import type { ScheduledAction } from "./objects.ts";
import { isRefusalCode, type ResultCode } from "./result-codes.ts";
import type { Settings } from "./settings.ts";

/**
 * The faults of single names. The beginning of a name, its label, says which fault it has. A new fault is a line in
 * `labels` below; if it spoils an answer in a new way, it is a `Delivery` as well. The README's table is printed from here.
 */

/** How the answer to a command reaches the client. Everything is optional: an empty delivery is the normal one. */
export interface Delivery {
  /** The connection dies without an answer; "before": and the command is not executed. */
  drops?: "before" | "after";
  delayMs?: number;
  /** Changes the answer, which must stay valid against the schemas. */
  change?(answer: string): string;
  /** Sent in a frame in place of the answer. */
  instead?: string;
  /** Writes the frame; absent: at once and whole. */
  write?(socket: TLSSocket, frame: Buffer): Promise<void>;
}

export const normalDelivery: Delivery = {};
export const dropBefore: Delivery = { drops: "before" };
const dropAfter: Delivery = { drops: "after" };
const garbage: Delivery = { instead: "\u0001 this is not XML <<<" };
const wrongClTRID: Delivery = {
  change: (answer) => answer.replace(/<clTRID>[^<]*</, "<clTRID>SBX-NEVER-SENT<"),
};
const half: Delivery = {
  write: async (socket, frame) => {
    socket.write(frame.subarray(0, frame.length / 2), () => socket.destroy());
  },
};
const byteByByte: Delivery = {
  write: async (socket, frame) => {
    for (const byte of frame) {
      socket.write(Buffer.of(byte));
      await nextTurn();
    }
  },
};

/** What the label of a name changes. Everything is optional: an empty effect is that of a name without a label. */
export interface LabelEffect {
  /** The command that it affects; absent: create. */
  verb?: LabelledVerb;
  /** The other registrar holds the name, without anyone having registered it. */
  held?: true;
  /** `<check>` answers avail="0" with this reason. */
  checkReason?: string;
  /** The command is refused with this code. */
  refusalCode?: ResultCode;
  /** A client that has the fee extension can register the name at a price of its own (RFC 8748). */
  isPremium?: true;
  /** The other registrar registers the name just before the create. */
  raced?: true;
  /** What is done later: `<create>` answers 1001 until it is decided, or is executed and undone ("undo"). */
  scheduled?: ScheduledAction["action"];
  /** The registrar may delete the name while the create is pending. */
  deletable?: true;
  /** How the command's answer is delivered, and with `alsoOnCheck` also the answer to `<check>`. */
  delivery?: Delivery;
  alsoOnCheck?: true;
  /** Only the first such command on a name is affected. */
  once?: true;
}

/** The commands that have labels: `renew-late-` does to a renew what `late-` does to a create. */
type LabelledVerb = "create" | "renew" | "delete";

interface Label {
  /** As the README writes it. */
  form: string;
  /** Matches the beginning of a name; the first group is the number in it. */
  pattern: RegExp;
  means: string;
  /** The effect; nothing if the label does not accept the number. */
  effect: (number: number, settings: Settings) => LabelEffect | undefined;
}

function fixed(form: string, means: string, effect: LabelEffect): Label {
  return { form, pattern: new RegExp(`^${form}`), means, effect: () => effect };
}

/** The labels that every verb has: `drop-after-`, `renew-drop-after-` … */
function labelsOf(verb: LabelledVerb): Label[] {
  const prefix = verb === "create" ? "" : `${verb}-`;
  const spoiling = (form: string, what: string, delivery: Delivery): Label =>
    fixed(`${prefix}${form}`, `the first ${verb} ${what}`, { verb, delivery, once: true });
  const refusing = (form: string, means: string, effect: LabelEffect): Label => ({
    form: `${prefix}${form}-<nnnn>-`,
    pattern: new RegExp(`^${prefix}${form}-(\\d{4})-`),
    means,
    effect: (code) => (isRefusalCode(code) ? { verb, refusalCode: code, ...effect } : undefined),
  });
  return [
    spoiling("drop-before-", "is not executed, the connection dies", dropBefore),
    spoiling("drop-after-", "is executed, the connection dies without an answer", dropAfter),
    spoiling("garbage-", "is executed, its answer is not XML", garbage),
    spoiling("trid-", "is executed, its answer has another clTRID", wrongClTRID),
    spoiling("short-", "is executed, half of its answer arrives", half),
    {
      form: `${prefix}late-`,
      pattern: new RegExp(`^${prefix}late-`),
      means: `the first ${verb} is executed, its answer comes after lateMs`,
      effect: (_number, { lateMs }) => ({ verb, delivery: { delayMs: lateMs }, once: true }),
    },
    refusing("code", `every ${verb} is refused with this code (2000 to 2502)`, {}),
    refusing("once", `the first ${verb} is refused with this code, later ones are normal`, { once: true }),
  ];
}

/** All labels, in the order in which they are compared with a name. */
export const labels: readonly Label[] = [
  fixed("taken-", "held by another registrar: check avail=0 In use, create 2302, info shows the holder", {
    held: true,
  }),
  fixed("reserved-", "check avail=0 Reserved, create 2304", { checkReason: "Reserved", refusalCode: 2304 }),
  fixed("reserved2302-", "check says available, but create answers 2302, info 2303", { refusalCode: 2302 }),
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
  fixed("pending-lost-", "create 1001, approved after pendingDelayMs, without a poll message", {
    scheduled: "lose",
  }),
  fixed("pending-never-", "create 1001, never decided", { scheduled: "never" }),
  fixed("pending-deletable-", "create 1001, never decided, but its registrar may delete it (other pendings: 2304)", {
    scheduled: "never",
    deletable: true,
  }),
  fixed("undo-after-", "as drop-after-, and the registry undoes the create after undoDelayMs (RFC 5734 §3)", {
    delivery: dropAfter,
    scheduled: "undo",
    once: true,
  }),
  fixed("dribble-", "the answers to check and create arrive one byte at a time", {
    delivery: byteByByte,
    alsoOnCheck: true,
  }),
  {
    form: "slow-<ms>-",
    pattern: /^slow-(\d+)-/,
    means: "the answers to check and create come <ms> milliseconds later (at most slowMsMax)",
    effect: (number, { slowMsMax }) => ({
      delivery: { delayMs: Math.min(number, slowMsMax) },
      alsoOnCheck: true,
    }),
  },
  ...labelsOf("create"),
  ...labelsOf("renew"),
  ...labelsOf("delete"),
];

/** The reason of a refusal that has no other. */
export const askedByLabel = "the label of the name asks for it";

export const noEffect: LabelEffect = {};

/** The effect of the label that `name` begins with. */
export function effectOf(name: string, settings: Settings): LabelEffect {
  for (const label of labels) {
    const match = label.pattern.exec(name);
    const effect = match && label.effect(Number(match[1]), settings);
    if (effect) return effect;
  }
  return noEffect;
}
