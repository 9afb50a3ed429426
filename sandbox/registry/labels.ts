import { setImmediate as nextTurn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import type { Decision, ScheduledAction } from "./objects.ts";
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
const byteByByte: Delivery = {
  write: async (socket, frame) => {
    for (const byte of frame) {
      socket.write(Buffer.of(byte));
      await nextTurn();
    }
  },
};

/** How an answer can be spoiled, by a label or by a fault. */
export const spoiledNames = ["drop-before", "drop-after", "garbage", "trid", "short", "late"] as const;
export type SpoiledName = (typeof spoiledNames)[number];

export function spoiledDelivery(name: SpoiledName, { lateMs }: Pick<Settings, "lateMs">): Delivery {
  return {
    "drop-before": dropBefore,
    "drop-after": dropAfter,
    garbage: { instead: "\u0001 this is not XML <<<" },
    trid: { change: (answer: string) => answer.replace(/<clTRID>[^<]*</, "<clTRID>SBX-NEVER-SENT<") },
    short: {
      write: async (socket: TLSSocket, frame: Buffer) => {
        socket.write(frame.subarray(0, frame.length / 2), () => socket.destroy());
      },
    },
    late: { delayMs: lateMs },
  }[name];
}

/** What a label, or a fault, changes about a command. Everything is optional: an empty effect changes nothing. */
export interface CommandEffect {
  /** The command that the label affects; absent: create. */
  verb?: LabelledVerb;
  /** The other registrar holds the name, without anyone having registered it. */
  held?: true;
  /** `<check>` answers avail="0" with this reason. */
  checkReason?: string;
  /** The command is refused with this code. */
  refusalCode?: ResultCode;
  /**
   * The command has a premium price (RFC 8748). Of a create: and so have renews and transfers, and only a client that has the
   * fee extension can register the name.
   */
  isPremium?: true;
  /** Only a client with the allocation token of the settings can register the name (RFC 8495). */
  needsToken?: true;
  /** In the claims phase its registrant must have acknowledged a claims notice (RFC 8334 §2.3.1). */
  isClaimed?: true;
  /** The other registrar registers the name just before the create. */
  raced?: true;
  /** What is done later: the command answers 1001 until it is decided, or is executed and something follows. */
  scheduled?: ScheduledAction["action"];
  /** The registrar may delete the name while the create is pending. */
  deletable?: true;
  /** Another registrar requests the transfer of the name later. */
  leaves?: true;
  /** How the command's answer is delivered, and with `alsoOnCheck` also the answer to `<check>`. */
  delivery?: Delivery;
  alsoOnCheck?: true;
  /** Only the first such command on a name is affected. */
  once?: true;
}

/** The commands that have labels; of a transfer it is the answer: approve, reject or cancel. */
const otherVerbs = ["renew", "update", "restore", "transfer", "delete"] as const;
export type LabelledVerb = "create" | (typeof otherVerbs)[number];

interface Label {
  /** As the README writes it. */
  form: string;
  /** Matches the beginning of a name, with the groups `verb` and `number` if it has these parts. */
  pattern: RegExp;
  means: string;
  /** The effect; nothing if the label does not accept the number. */
  effect: (parts: { verb: LabelledVerb; number: number }, settings: Settings) => CommandEffect | undefined;
}

function fixed(form: string, means: string, effect: CommandEffect): Label {
  return { form, pattern: new RegExp(`^${form}`), means, effect: () => effect };
}

/** A label of the create, and of other commands with the command before it: `drop-after-`, `renew-drop-after-` … */
function ofVerbs(form: string, means: string, effect: Label["effect"], verbs: readonly string[] = otherVerbs): Label {
  const pattern = new RegExp(`^(?:(?<verb>${verbs.join("|")})-)?${form.replace("<nnnn>", "(?<number>\\d{4})")}`);
  return { form: `[<verb>-]${form}`, pattern, means, effect };
}

function spoiling(name: SpoiledName, means: string): Label {
  return ofVerbs(`${name}-`, `the first command ${means}`, ({ verb }, settings) => ({
    verb,
    delivery: spoiledDelivery(name, settings),
    once: true,
  }));
}

function refusing(form: string, means: string, effect: CommandEffect): Label {
  return ofVerbs(`${form}-<nnnn>-`, means, ({ verb, number }) =>
    isRefusalCode(number) ? { verb, refusalCode: number, ...effect } : undefined,
  );
}

/** A delete is never pending in this way: its 1001 begins the redemption. */
const pendingVerbs = otherVerbs.filter((verb) => verb !== "delete");

function pending(form: string, action: Decision, means: string): Label {
  return ofVerbs(form, `1001, ${means}`, ({ verb }) => ({ verb, scheduled: action }), pendingVerbs);
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
  ...(["renew", "restore"] as const).map((verb) =>
    fixed(`${verb}-premium-`, `a ${verb} costs premiumAmount, and everything else what it costs for other names`, {
      verb,
      isPremium: true,
    }),
  ),
  fixed("token-", "needs the token in `allocationToken` (RFC 8495): without it check avail=0, create 2201", {
    needsToken: true,
  }),
  fixed("claims-", "with `launchPhase` claims it needs a claims notice: create 2003", { isClaimed: true }),
  fixed("race-", "check says available, but another registrar is first: create 2302", { raced: true }),
  pending("pending-approve-", "approve", "approved after pendingDelayMs: poll message, and the command takes effect"),
  pending(
    "pending-deny-",
    "deny",
    "denied after pendingDelayMs: poll message, and nothing has changed; a created name is free",
  ),
  pending("pending-lost-", "lose", "approved after pendingDelayMs, without a poll message"),
  pending("pending-never-", "never", "never decided, except by `POST /decisions`"),
  fixed("pending-deletable-", "create 1001, never decided, but its registrar may delete it (other pendings: 2304)", {
    scheduled: "never",
    deletable: true,
  }),
  fixed("undo-after-", "as drop-after-, and the registry undoes the create after undoDelayMs (RFC 5734 §3)", {
    delivery: dropAfter,
    scheduled: "undo",
    once: true,
  }),
  fixed(
    "leaving-",
    "sandbox-other requests its transfer pendingDelayMs after the create, once no status prohibits it",
    {
      leaves: true,
    },
  ),
  fixed("dribble-", "the answers to check and create arrive one byte at a time", {
    delivery: byteByByte,
    alsoOnCheck: true,
  }),
  {
    form: "slow-<ms>-",
    pattern: /^slow-(?<number>\d+)-/,
    means: "the answers to check and create come <ms> milliseconds later (at most slowMsMax)",
    effect: ({ number }, { slowMsMax }) => ({
      delivery: { delayMs: Math.min(number, slowMsMax) },
      alsoOnCheck: true,
    }),
  },
  spoiling("drop-before", "is not executed, the connection dies"),
  spoiling("drop-after", "is executed, the connection dies without an answer"),
  spoiling("garbage", "is executed, its answer is not XML"),
  spoiling("trid", "is executed, its answer has another clTRID"),
  spoiling("short", "is executed, half of its answer arrives"),
  spoiling("late", "is executed, its answer comes after lateMs"),
  refusing("code", "every command is refused with this code (2000 to 2502)", {}),
  refusing("once", "the first command is refused with this code, later ones are normal", { once: true }),
];

/** The reason of a refusal that has no other. */
export const askedFor = "a label or a fault asks for it";

export const noEffect: CommandEffect = {};

/** The effect of the label that `name` begins with. */
export function effectOf(name: string, settings: Settings): CommandEffect {
  for (const label of labels) {
    const match = label.pattern.exec(name);
    const { verb = "create", number } = match?.groups ?? {};
    const effect = match && label.effect({ verb: verb as LabelledVerb, number: Number(number) }, settings);
    if (effect) return effect;
  }
  return noEffect;
}
