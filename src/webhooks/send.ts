/** Sends one request to a webhook: to an allowed address only, once, and with limits on time and answer. */
import { type IncomingMessage, request } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { WebhookSettings } from "#context.ts";
import {
  findAddresses,
  isAllowedAddress,
  parseWebhookUrl,
  RefusedAddress,
  type TargetContext,
} from "#webhooks/addresses.ts";

/** From the look-up of the name to the end of the answer. */
const answerMsMax = 10_000;
const answerBytesMax = 4 * 1024;
/** The status says everything: what follows it is for people. */
const bodyMsMax = 1_000;
/** Answers before the answer, such as 103 (RFC 9110 §15.2). */
const informationalAnswersMax = 4;
const readBytesMax = 64 * 1024;
const retryAfterMsMax = 60 * 60_000;

export interface WebhookRequest {
  /** Whose webhook it is. */
  resellerId: number;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface Attempt {
  isDelivered: boolean;
  /** Missing when no answer came. */
  answerStatus?: number;
  /** The beginning of the answer. */
  answerText?: string;
  /** Why it was not delivered, for people. */
  errorText?: string;
  /** When the receiver is busy, and says for how long. */
  retryAfterMs?: number;
  durationMs: number;
}

export interface SendContext extends TargetContext {
  clock: { monotonicMs(): number };
}

/** Never throws: whatever goes wrong is the attempt's error. */
export async function sendWebhook(context: SendContext, webhook: WebhookRequest): Promise<Attempt> {
  const beganAt = context.clock.monotonicMs();
  const signal = AbortSignal.timeout(answerMsMax);
  const outcome = await post(context, webhook, signal).catch((error: unknown) => ({
    isDelivered: false,
    errorText: signal.aborted ? `There was no answer within ${answerMsMax / 1000} s.` : describe(error),
  }));
  return { ...outcome, durationMs: Math.round(context.clock.monotonicMs() - beganAt) };
}

async function post(
  context: SendContext,
  webhook: WebhookRequest,
  signal: AbortSignal,
): Promise<Omit<Attempt, "durationMs">> {
  const url = parseWebhookUrl(context.webhooks, webhook.url);
  const addresses = await findAddresses(context, webhook.resellerId, url, signal);
  signal.throwIfAborted();
  const socket = await open(context.webhooks, url, addresses, signal);
  try {
    const response = await exchange(url, webhook, socket, signal);
    const answerText = await readBeginning(response);
    const { statusCode: answerStatus = 0 } = response;
    if (answerStatus >= 200 && answerStatus <= 299) return { isDelivered: true, answerStatus, answerText };
    const retryAfterMs = readRetryAfter(response);
    return { isDelivered: false, answerStatus, answerText, errorText: describeStatus(answerStatus), retryAfterMs };
  } finally {
    socket.destroy();
  }
}

/** Tries the addresses one after the other. */
async function open(
  settings: WebhookSettings,
  url: URL,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await openOne(settings, url, address, signal);
    } catch (error) {
      failure = error;
      if (signal.aborted || error instanceof RefusedAddress) break;
    }
  }
  throw failure;
}

async function openOne(settings: WebhookSettings, url: URL, address: string, signal: AbortSignal): Promise<Socket> {
  const isSecure = url.protocol === "https:";
  const socket = connect({ host: address, port: Number(url.port || (isSecure ? 443 : 80)) });
  await ready(socket, "connect", signal);
  // Before anything is written, also of TLS.
  if (!isAllowedAddress(settings, socket.remoteAddress ?? "")) {
    socket.destroy();
    throw new RefusedAddress(`The connection led to ${socket.remoteAddress}, which is not allowed.`);
  }
  if (!isSecure) return socket;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const servername = isIP(host) ? undefined : host;
  const secure = connectTls({
    socket,
    host,
    ...(servername && { servername }),
    ...(settings.ca && { ca: settings.ca }),
  });
  await ready(secure, "secureConnect", signal);
  return secure;
}

function ready(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => socket.destroy(new Error("aborted"));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    socket.once(event, () => resolve());
    // It stays after the connection is made: a later error ends the request.
    socket.on("error", reject).once("close", () => {
      signal.removeEventListener("abort", stop);
      reject(new Error("the connection was closed"));
    });
  });
}

function exchange(
  url: URL,
  { headers, body }: WebhookRequest,
  socket: Socket,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => socket,
      method: "POST",
      path: url.pathname + url.search,
      signal,
      headers: {
        host: url.host,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "Deedhouse-Webhooks/1",
        connection: "close",
        ...headers,
      },
    });
    outgoing.once("response", resolve).once("error", reject).end(body);
    let informationalAnswers = 0;
    outgoing.on("information", () => {
      informationalAnswers++;
      if (informationalAnswers <= informationalAnswersMax && socket.bytesRead <= readBytesMax) return;
      // At once: an answer that has been read already may follow.
      reject(new Error("it sent informational answers without end"));
      outgoing.destroy();
    });
    // After 101, Node emits neither of them.
    outgoing.once("close", () => reject(new Error("the connection was closed")));
  });
}

/** An answer that is longer, or breaks off, is an answer: its status says everything. */
async function readBeginning(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => response.destroy(), bodyMsMax);
  try {
    for await (const part of response) {
      parts.push(part as Buffer);
      size += (part as Buffer).length;
      if (size >= answerBytesMax) break;
    }
  } catch {
    // What has come is shown.
  } finally {
    clearTimeout(timer);
  }
  // PostgreSQL's texts have no NUL.
  return Buffer.concat(parts).subarray(0, answerBytesMax).toString("utf8").replaceAll("\0", "");
}

/** A time in seconds; a date counts as none. */
function readRetryAfter({ statusCode, headers }: IncomingMessage): number {
  const seconds = /^\d{1,9}$/.exec(headers["retry-after"] ?? "")?.[0];
  if (seconds === undefined || !(statusCode === 429 || statusCode === 503)) return 0;
  return Math.min(Number(seconds) * 1_000, retryAfterMsMax);
}

function describeStatus(status: number): string {
  if (status >= 300 && status <= 399)
    return `It answered ${status}. Redirects are not followed: set the URL that it leads to.`;
  return `It answered ${status}. A webhook answers 200 to 299 when it has stored the event.`;
}

function describe(error: unknown): string {
  if (error instanceof RefusedAddress) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return `The connection failed: ${message}${code && !message.includes(code) ? ` (${code})` : ""}.`;
}
