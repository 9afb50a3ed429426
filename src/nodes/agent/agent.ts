/**
 * The agent of a hosting node: asks its gateway what the node shall be, makes it so, and says so by asking for what comes
 * after. It goes by states and not by events: killed anywhere, it asks again from what is surely in force, and applying a
 * state twice is the same as once. While the gateway is away the node works on as it is.
 */
import { createPublicKey } from "node:crypto";
import { backoffMs } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { agentVersion } from "#nodes/agent/agent-version.ts";
import { answerQuestion, cutAnswer } from "#nodes/agent/answer.ts";
import type { AgentConfig } from "#nodes/agent/config.ts";
import { createGatewayChannel, type GatewayChannel, GatewayRefused } from "#nodes/agent/gateway-channel.ts";
import type { RefusedVersion } from "#nodes/agent/messages.ts";
import { Outbox } from "#nodes/agent/outbox.ts";
import { type Progress, readProgress, writeProgress } from "#nodes/agent/progress.ts";
import { publicKeyText } from "#nodes/agent/request-signature.ts";
import { type Question, type StateDocument, stateOf, UntrustedState } from "#nodes/agent/state-document.ts";
import type { Transport } from "#nodes/agent/transport.ts";
import type { AgentNode } from "#nodes/agent-node.ts";

const backoff = { firstMs: 250, maxMs: 10_000 };
const usageWaitMs = 30_000;
/** Between two looks at what has changed: a busy site's uploads are told together. */
const usageGatherMs = 200;

export interface AgentOptions {
  config: AgentConfig;
  transport: Transport;
  node: AgentNode;
  /** A file of the agent's own, in a folder that exists. */
  progressFile: string;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Agent {
  /** Lets what is being applied be applied, then ends; the node works on. */
  close(): Promise<void>;
}

/** @throws Error when the progress file cannot be read */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { config, transport, progressFile, log } = options;
  const progress = await readProgress(progressFile, joinedAs(config), log);
  const channel = createGatewayChannel(options);
  const outbox = new Outbox({ ...options, channel });
  const stopped = new AbortController();
  const { signal } = stopped;
  const running = [
    followState({ ...options, channel, outbox, signal }, progress),
    followUsage(options, outbox, signal),
    outbox.run(signal),
  ];
  return {
    async close() {
      stopped.abort();
      await Promise.all(running);
      transport.close();
    },
  };
}

/** A machine that joins anew has a new key. */
function joinedAs({ node, gatewayKey, privateKey }: AgentConfig): string {
  return [node, publicKeyText(gatewayKey), publicKeyText(createPublicKey(privateKey))].join(" ");
}

interface Following extends AgentOptions {
  channel: GatewayChannel;
  outbox: Outbox;
  signal: AbortSignal;
}

async function followState(following: Following, start: Progress): Promise<void> {
  const { channel, node, signal, log, random } = following;
  let progress = start;
  let asked = -1;
  for (let failures = 0; !signal.aborted; ) {
    try {
      const { version: after, head, refused } = progress;
      const highestUid = await node.highestUid();
      const document = await channel.sync({ after, head, asked, refused, agentVersion, highestUid }, signal);
      // An answer means that the gateway has taken in what was refused.
      progress = { ...progress, refused: [] };
      failures = 0;
      if (document === undefined) continue;
      progress = await take(following, progress, document);
      for (const question of document.questions) {
        asked = Math.max(asked, question.version);
        answer(following, question);
      }
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      log[isAlarming(error) ? "error" : "warn"]({ err: error }, "the desired state could not be fetched or applied");
      await sleep(backoffMs(failures, backoff, random), signal);
    }
  }
}

function isAlarming(error: unknown): boolean {
  return error instanceof UntrustedState || error instanceof GatewayRefused;
}

/** Brings the node to the document's states. Only then they are acknowledged, by asking for what comes after them. */
async function take({ node, progressFile }: Following, before: Progress, document: StateDocument): Promise<Progress> {
  const { accounts, version, head } = document;
  if (accounts.length === 0) return { ...before, version, head };
  const versions = new Map(accounts.map((entry) => [uidOf(entry), entry.version]));
  const refusals = await node.apply(accounts.map(stateOf));
  const refused = refusals.map(({ uid, reason }): RefusedVersion => ({ uid, reason, version: versions.get(uid)! }));
  const progress = { ...before, version, head, refused };
  await writeProgress(progressFile, progress);
  return progress;
}

function uidOf(entry: StateDocument["accounts"][number]): number {
  return "account" in entry ? entry.account.uid : entry.removed.uid;
}

/** Beside everything else: a probe takes its time, and changes go on meanwhile. */
async function answer({ node, outbox, log }: Following, question: Question): Promise<void> {
  outbox.addAnswer(cutAnswer(question.id, await answerQuestion(node, question, log)));
}

async function followUsage({ node, log, random }: AgentOptions, outbox: Outbox, signal: AbortSignal): Promise<void> {
  let after = 0;
  for (let failures = 0; !signal.aborted; ) {
    try {
      const { version, accounts } = await node.usageChanges({ after, waitMs: usageWaitMs, signal });
      after = version;
      failures = 0;
      if (accounts.length > 0) outbox.addUsage(accounts);
      await sleep(usageGatherMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      log.warn({ err: error }, "what the accounts use could not be read");
      await sleep(backoffMs(failures, backoff, random), signal);
    }
  }
}
