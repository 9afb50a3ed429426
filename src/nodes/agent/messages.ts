/** The messages of a node's agent to the gateway, and their paths. */
import { type Static, Type } from "typebox";
import { Identifier, Uid } from "#nodes/account-json.ts";
import { refusalReasons } from "#nodes/driver.ts";

export const joinPath = "/join";
export const syncPath = "/sync";
export const reportPath = "/report";

/** The largest request body that the gateway reads. */
export const requestBytesMax = 2 * 1024 * 1024;
/** The largest body that is read before the sender is authenticated. */
export const unprovenBytesMax = 64 * 1024;

/** How long the gateway holds a sync request while nothing changes. */
export const holdMs = 25_000;

const Version = Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Acknowledges the version `after`, and asks for the states after it. */
export const SyncBody = Type.Object({
  /** All states up to this version are applied and durable; −1 asks for all states. */
  after: Version,
  /** The newest version that this node has seen. */
  head: Version,
  /** The version of the newest question that this process has received. */
  asked: Version,
  /** The states up to `after` that the node refuses for good. */
  refused: Type.Array(
    Type.Object({
      version: Version,
      uid: Uid,
      reason: Type.Enum(refusalReasons),
    }),
    { maxItems: 4_000 },
  ),
  agentVersion: Type.String({ maxLength: 100 }),
  /** The highest uid that the node ever received. */
  highestUid: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
});
export type SyncBody = Static<typeof SyncBody>;
export type RefusedVersion = SyncBody["refused"][number];

/** Accounts in one report. */
export const usageInReportMax = 2_000;
/** An answer is split into parts of this many characters. */
export const answerPartCharsMax = 400_000;
export const answerPartsMax = 128;

const UsageReport = Type.Object({
  identifier: Identifier,
  uid: Uid,
  bytes: Count,
  files: Count,
  traffic: Type.Optional(Type.Object({ month: Type.String({ pattern: "^[0-9]{4}-[0-9]{2}$" }), bytes: Count })),
});
export type UsageReport = Static<typeof UsageReport>;

const AnswerPart = Type.Object({
  question: Type.String({ format: "uuid" }),
  part: Type.Integer({ minimum: 0, maximum: answerPartsMax - 1 }),
  parts: Type.Integer({ minimum: 1, maximum: answerPartsMax }),
  text: Type.String({ maxLength: answerPartCharsMax }),
});
export type AnswerPart = Static<typeof AnswerPart>;

export const ReportBody = Type.Object({
  usage: Type.Array(UsageReport, { maxItems: usageInReportMax }),
  answers: Type.Array(AnswerPart, { maxItems: 100 }),
});
export type ReportBody = Static<typeof ReportBody>;

export const JoinBody = Type.Object({
  secret: Type.String({ maxLength: 100 }),
  /** The node's public key: `publicKeyText`. Its private key signs the request. */
  publicKey: Type.String({ maxLength: 200 }),
  agentVersion: Type.String({ maxLength: 100 }),
  /** The node that the server already is: the token must be for the same one. */
  node: Type.Optional(Type.String({ maxLength: 100 })),
});
export type JoinBody = Static<typeof JoinBody>;

export const JoinAnswer = Type.Object({
  node: Type.String({ minLength: 1 }),
  /** The public key for the signatures of desired states: `publicKeyText`. */
  gatewayKey: Type.String({ minLength: 1 }),
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: Type.String({ minLength: 1 }),
});
export type JoinAnswer = Static<typeof JoinAnswer>;

/** The body of all refusals. */
export const Refusal = Type.Object({
  error: Type.String(),
  /** With `counter_too_low`: the last counter that the gateway has seen. */
  counter: Type.Optional(Type.Integer({ minimum: 0 })),
});

/** A node's answer to a question. */
export const Answer = Type.Union([
  Type.Object({ result: Type.Unknown() }),
  Type.Object({ refused: Type.Enum(refusalReasons) }),
  Type.Object({ unavailable: Type.String() }),
]);
export type Answer = Static<typeof Answer>;
