/**
 * The agent of a hosting node: fetches the node's desired state from its gateway, applies it, and acknowledges it by asking
 * for the states after it. It works with states, not events: after a kill it asks again from the last version that is known
 * to be in force, and applying a state twice equals applying it once. While the gateway is down, the node keeps working.
 */
import { createPublicKey } from "node:crypto";
import { backoffMs } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { reportDefect } from "#lib/report-defect.ts";
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
/** Batches the changes of a busy site's uploads. */
const usageGatherMs = 200;

export interface AgentOptions {
  config: AgentConfig;
  transport: Transport;
  node: AgentNode;
  /** The agent's own file, in an existing folder. */
  progressFile: string;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Agent {
  /** Finishes applying the current states, then stops. The node keeps working. */
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

/** A server that joins again has a new key. */
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
      // The answer means that the gateway has recorded the refusals.
      progress = { ...progress, refused: [] };
      failures = 0;
      if (document === undefined) continue;
      progress = await applyDocument(following, progress, document);
      for (const question of document.questions) {
        asked = Math.max(asked, question.version);
        answer(following, question).catch(reportDefect);
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

/** Applies the document's states. Asking for the version after them acknowledges them. */
async function applyDocument(
  { node, progressFile }: Following,
  before: Progress,
  document: StateDocument,
): Promise<Progress> {
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

/** Runs concurrently with everything else: a probe takes seconds, and changes continue meanwhile. */
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
      log.warn({ err: error }, "the usage of the accounts could not be read");
      await sleep(backoffMs(failures, backoff, random), signal);
    }
  }
}
