/** Sends this node's requests to the gateway: signs them, numbers them, and verifies the answers. */
import { Value } from "typebox/value";
import type { Clock } from "#lib/clock.ts";
import type { AgentConfig } from "#nodes/agent/config.ts";
import { holdMs, Refusal, type ReportBody, reportPath, type SyncBody, syncPath } from "#nodes/agent/messages.ts";
import { signatureHeader, signedHeaders } from "#nodes/agent/request-signature.ts";
import { documentBytesMax, parseState, type StateDocument } from "#nodes/agent/state-document.ts";
import type { GatewayAnswer, Transport } from "#nodes/agent/transport.ts";

/** In addition to the time that the gateway holds a request. */
const answerGraceMs = 15_000;

/** The gateway answered with a refusal. */
export class GatewayRefused extends Error {
  override readonly name = "GatewayRefused";
  readonly status: number;
  constructor(status: number, code: string) {
    super(code === "node_is_ahead" ? aheadText : `the gateway refused with ${status} ${code}`);
    this.status = status;
  }
}

const aheadText =
  "this node has later states than the gateway has issued: was the gateway restored from a backup? Nothing is removed here until its operator decides (docs/hosting.md)";

export interface GatewayChannel {
  /**
   * @returns the states that changed after `body.after`; undefined when none changed while the gateway held the request
   * @throws UntrustedState, GatewayRefused, or Error when the gateway cannot be reached
   */
  sync(body: SyncBody, signal: AbortSignal): Promise<StateDocument | undefined>;
  /** @throws GatewayRefused, or Error when the gateway cannot be reached */
  report(body: ReportBody, signal: AbortSignal): Promise<void>;
}

export interface GatewayChannelOptions {
  config: AgentConfig;
  transport: Transport;
  clock: Clock;
}

/** Connects with the first request. Send one request of each kind at a time: counters must arrive in order. */
export function createGatewayChannel({ config, transport, clock }: GatewayChannelOptions): GatewayChannel {
  let counter = 0;
  /** Increases across restarts too, as long as the clock does; if it does not, the gateway's refusal names the last counter. */
  const nextCounter = () => {
    counter = Math.max(counter + 1, clock.now().getTime() * 1_000);
    return counter;
  };

  async function send(
    path: string,
    content: object,
    signal: AbortSignal,
  ): Promise<[answer: GatewayAnswer, counter: number]> {
    const body = Buffer.from(JSON.stringify(content));
    const request = { path, node: config.node, counter: nextCounter() };
    const headers = { "content-type": "application/json", ...signedHeaders(request, body, config.privateKey) };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(holdMs + answerGraceMs)]);
    const answer = await transport.send({ path, headers, body, answerBytesMax: documentBytesMax, signal: limit });
    if (answer.status >= 300) throw refusalOf(answer);
    return [answer, request.counter];
  }

  function refusalOf({ status, body }: GatewayAnswer): GatewayRefused {
    const refusal: unknown = parseJson(body);
    if (!Value.Check(Refusal, refusal)) return new GatewayRefused(status, "without a reason");
    counter = Math.max(counter, refusal.counter ?? 0);
    return new GatewayRefused(status, refusal.error);
  }

  return {
    async sync(body, signal) {
      const [answer, counted] = await send(syncPath, body, signal);
      if (answer.status === 204) return undefined;
      return parseState(answer.body, String(answer.headers[signatureHeader] ?? ""), {
        node: config.node,
        counter: counted,
        after: body.after,
        head: body.head,
        gatewayKey: config.gatewayKey,
      });
    },
    async report(body, signal) {
      await send(reportPath, body, signal);
    },
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
