/** What client-bridge.py does for Python: makes the calls that a test writes to stdin, and prints what came of them. */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { systemClock } from "#lib/clock.ts";
import { type Client, createClient } from "../../client/sdk/client.ts";
import { ApiError, ConnectionError, UnsuccessfulError, WaitTimeoutError } from "../../client/sdk/errors.ts";
import { authorizationHeader, stringToSign } from "../../client/sdk/sign.ts";
import type { Answer, HostingAccount, Order, PlacedAccount, PlacedOrder } from "../../client/sdk/types.ts";
import { instantClock } from "../../client/testing/instant-clock.ts";
import type { ForeignOptions } from "./foreign-client.ts";

interface Args {
  domainName: string;
  years: number;
  expirationDate: string;
  idempotencyKey?: string;
  identifier: string;
  password: string;
  servicePackId: string;
  order: string;
  account: string;
  timeoutSeconds?: number;
  take?: number;
  body: string;
  timestamp: number;
}

let client: Client;
let placed: PlacedOrder | PlacedAccount | undefined;
let slept: number[] = [];
let retries: number[] = [];

function open({ timeoutSeconds, caFile, isInstant, ...options }: ForeignOptions): Client {
  if (caFile) setDefaultCACertificates([...getCACertificates("default"), readFileSync(caFile, "utf8")]);
  const instant = instantClock((delayMs) => slept.push(delayMs / 1000));
  // Its time of day is the service's at first.
  const clock = { ...instant, now: () => new Date(systemClock.now().getTime() + instant.monotonicMs()) };
  return createClient({
    ...options,
    ...(isInstant && { clock }),
    timeoutMs: timeoutSeconds && timeoutSeconds * 1000,
    onRetry: ({ retry }) => retries.push(retry),
  });
}

/** Waits for what the last call has placed, or for a code. */
async function wait<T extends Order | HostingAccount>(
  run: (options: { timeoutMs?: number; onStatus(answer: Answer<T>): void }) => Promise<Answer<T>>,
  { timeoutSeconds }: Args,
) {
  const statuses: string[] = [];
  const timeout = timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 };
  const answer = await run({ ...timeout, onStatus: ({ data }) => statuses.push(data.status) });
  return { ...answer, statuses };
}

const calls: Record<string, (args: Args) => unknown> = {
  open: (options) => void open(options as unknown as ForeignOptions),
  sign({ body, timestamp, ...rest }) {
    const input = { ...rest, body: Buffer.from(body), timestampSeconds: timestamp } as unknown as Parameters<
      typeof authorizationHeader
    >[0];
    return { stringToSign: stringToSign(input), authorization: authorizationHeader(input) };
  },
  listDomains: (options) => client.listDomains(options),
  getDomain: ({ domainName }) => client.getDomain(domainName),
  registerDomain: ({ domainName, ...options }) => client.registerDomain(domainName, options),
  renewDomain: ({ domainName, ...term }) => client.renewDomain(domainName, term),
  deleteDomain: ({ domainName }) => client.deleteDomain(domainName),
  restoreDomain: ({ domainName, ...options }) => client.restoreDomain(domainName, options),
  listHostingAccounts: () => client.listHostingAccounts(),
  createHostingAccount: (account) => client.createHostingAccount(account),
  setHostingPassword: ({ identifier, password }) => client.setHostingPassword(identifier, password),
  suspendHostingAccount: ({ identifier, ...options }) => client.suspendHostingAccount(identifier, options),
  unsuspendHostingAccount: ({ identifier }) => client.unsuspendHostingAccount(identifier),
  deleteHostingAccount: ({ identifier }) => client.deleteHostingAccount(identifier),
  finished: (args) => {
    const order = args.order === "placed!" ? (placed as PlacedOrder) : args.order;
    return wait<Order>((options) => client.finished(order, options), args);
  },
  provisioned: (args) => wait<HostingAccount>((options) => client.provisioned(args.account, options), args),
};

/** An answer, with what was placed beside its data. */
function resultOf(answer: unknown): unknown {
  const { status, data } = answer as Answer<{ order_code?: string; identifier?: string }>;
  if (status !== 202 || !data) return answer;
  placed = answer as PlacedOrder | PlacedAccount;
  return { ...placed, orderCode: data.order_code, identifier: data.identifier };
}

function errorOf(error: Error): object {
  const { message } = error;
  if (error instanceof ApiError) {
    const { status, errorCode, errorText, validationErrors: errors } = error;
    const { requestId = null, retryAfterSeconds = null, location = null } = error;
    return { type: "Api", message, status, errorCode, errorText, errors, requestId, retryAfterSeconds, location };
  }
  if (error instanceof ConnectionError) return { type: "NoAnswer", message };
  if (error instanceof UnsuccessfulError) {
    return { type: "Unsuccessful", message, status: error.outcome.status, outcome: error.outcome };
  }
  if (error instanceof TypeError) return { type: "Type", message };
  if (!(error instanceof WaitTimeoutError)) throw error;
  const { lastStatus, checkAfterSeconds } = error;
  return { type: "WaitTimeout", message, lastStatus, checkAfterSeconds };
}

let isOpen = false;
for await (const line of createInterface({ input: process.stdin })) {
  if (!isOpen) {
    client = open(JSON.parse(line));
    isOpen = true;
    continue;
  }
  const { method, args } = JSON.parse(line) as { method: string; args: Args };
  let said: object;
  try {
    said = { result: resultOf((await calls[method]!(args)) ?? {}) };
  } catch (error) {
    said = { error: errorOf(error as Error) };
  }
  process.stdout.write(`${JSON.stringify({ ...said, slept, retries })}\n`);
  slept = [];
  retries = [];
}
