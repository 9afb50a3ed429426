/** Orders the registration of every name in a file, at the pace that the service allows, and follows the orders. */
import type { Client } from "../../sdk/client.ts";
import type { Clock } from "../../sdk/clock.ts";
import { ApiError, ConnectionError } from "../../sdk/errors.ts";
import type { RateLimit, RegistrationOptions } from "../../sdk/types.ts";
import { CommandFailure, exitCodes } from "../failures.ts";
import { type Progress, startProgress } from "../follow.ts";
import { note, printJson, printTable } from "../output.ts";
import { type Journal, type Outcome, openJournal } from "./journal.ts";
import { readNames } from "./names.ts";

/** Other programs of the reseller share the limit. */
const requestsLeftForOthers = 10;
const ordersAtOnce = 4;
/** The first look comes soon, later ones less often: each is a request for a hundred orders. */
const lookAgainMsMin = 500;
const lookAgainMsMax = 10_000;

const columns = ["domain_name", "status", "order_code", "error_code", "error_text"];

export interface FileOptions {
  file: string;
  wait?: boolean;
  /** Milliseconds. */
  timeout: number;
  retryFailed?: boolean;
  json?: boolean;
}

/** @throws CommandFailure when names are left, or have failed; the same command goes on */
export async function registerFile(
  client: Client,
  clock: Clock,
  wanted: RegistrationOptions,
  options: FileOptions,
): Promise<void> {
  const names = await readNames(options.file);
  await using journal = await openJournal(`${options.file}.orders`);
  const progress = await startProgress();
  let stopped: unknown;
  try {
    await place({ client, clock, journal, progress }, names, wanted, options.retryFailed ?? false);
    if (options.wait) await followAll({ client, clock, journal, progress }, names, options.timeout);
  } catch (error) {
    stopped = error;
  }
  const outcomes = names.map((name) => journal.outcomes.get(name) ?? { domain_name: name, attempt: 0 });
  progress.end(stopped === undefined && outcomes.every(({ status }) => status === "Finished"));
  const shown = outcomes.map(({ attempt: _, ...outcome }) => ({ ...outcome, status: statusOf(outcome) }));
  if (options.json) printJson(shown);
  else printTable(shown, columns);
  judge(outcomes, stopped, options);
}

const statusOf = ({ status, order_code }: Partial<Outcome>) => status ?? (order_code ? "Ordered" : "NotOrdered");

interface Run {
  client: Client;
  clock: Clock;
  journal: Journal;
  progress: Progress;
}

async function place(run: Run, names: string[], wanted: RegistrationOptions, retriesFailed: boolean): Promise<void> {
  const { journal, progress, clock } = run;
  const isLeft = (name: string) => {
    const outcome = journal.outcomes.get(name);
    if (!outcome) return true;
    return retriesFailed && outcome.status !== undefined && outcome.status !== "Finished";
  };
  const left = names.filter(isLeft);
  let done = names.length - left.length;
  const queue = left.values();
  const pace = createPace(clock);
  let failure: unknown;
  const work = async () => {
    for (const name of queue) {
      if (failure !== undefined) return;
      try {
        await pace.wait();
        pace.note(await placeOne(run, name, wanted));
        done += 1;
        progress.count(done, names.length, "ordered");
      } catch (error) {
        failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: ordersAtOnce }, work));
  if (failure !== undefined) throw failure;
}

/** @throws what concerns all names, so that no further one is ordered */
async function placeOne(
  { client, journal }: Run,
  name: string,
  wanted: RegistrationOptions,
): Promise<RateLimit | undefined> {
  const attempt = (journal.outcomes.get(name)?.attempt ?? 0) + 1;
  const about = { domain_name: name, attempt };
  try {
    const idempotencyKey = journal.idempotencyKey(name, attempt);
    const { data, rateLimit } = await client.registerDomain(name, { ...wanted, idempotencyKey });
    await journal.record({ ...about, order_code: data.order_code });
    return rateLimit;
  } catch (error) {
    if (!(error instanceof ApiError) || !isAboutName(error)) throw error;
    await journal.record({
      ...about,
      status: "Refused",
      error_code: error.errorCode,
      error_text: [error.errorText, ...error.validationErrors.map(({ errorText }) => errorText)].join(" "),
    });
    return undefined;
  }
}

/** Whether another name may be accepted: not when the key, a limit, the service or the options are the reason. */
const isAboutName = ({ status, errorCode }: ApiError) =>
  [400, 404, 409, 422].includes(status) && errorCode !== "idempotency_key_reused";

/** Waits for the next window before the limit is used up. */
function createPace(clock: Clock) {
  let nextAtMs = 0;
  return {
    note(limit: RateLimit | undefined) {
      if (limit && limit.remaining <= requestsLeftForOthers) {
        nextAtMs = clock.monotonicMs() + limit.resetSeconds * 1000;
      }
    },
    async wait() {
      const delayMs = nextAtMs - clock.monotonicMs();
      if (delayMs > 0) await clock.sleep(delayMs);
    },
  };
}

/** Looks at the list of orders until all of these have ended or the time is over. */
async function followAll(run: Run, names: string[], timeoutMs: number): Promise<void> {
  const { clock, journal, progress } = run;
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  const leftMs = () => Math.max(0, deadlineMs - clock.monotonicMs());
  const isOpen = ({ order_code, status }: Outcome) => order_code !== undefined && status === undefined;
  const open = new Map([...journal.outcomes.values()].filter(isOpen).map((outcome) => [outcome.order_code, outcome]));
  for (let delayMs = lookAgainMsMin; open.size > 0; delayMs = Math.min(lookAgainMsMax, delayMs * 2)) {
    await lookAtOrders(run, open);
    progress.count(names.length - open.size, names.length, "ended");
    if (leftMs() === 0) return;
    if (open.size > 0) await clock.sleep(Math.min(delayMs, leftMs()));
  }
}

/** Records the ends of open orders, and removes them from `open`. The newest are listed first, so most of the list is not read. */
async function lookAtOrders({ client, journal }: Run, open: Map<string | undefined, Outcome>): Promise<void> {
  const unseen = new Map(open);
  for await (const { order_code, status, ended_at, error_code, error_text } of client.allOrders({ kind: "create" })) {
    const outcome = unseen.get(order_code);
    if (!outcome) continue;
    unseen.delete(order_code);
    if (ended_at !== undefined) {
      open.delete(order_code);
      const why = { ...(error_code !== undefined && { error_code }), ...(error_text !== undefined && { error_text }) };
      await journal.record({ ...outcome, status, ...why });
    }
    if (unseen.size === 0) return;
  }
}

function judge(outcomes: Outcome[], stopped: unknown, { wait }: FileOptions): void {
  const count = (wanted: string) => outcomes.filter((outcome) => statusOf(outcome) === wanted).length;
  const [notOrdered, ordered, finished] = [count("NotOrdered"), count("Ordered"), count("Finished")];
  const failed = outcomes.length - notOrdered - ordered - finished;
  const summary = `${finished} registered, ${ordered} in progress, ${failed} failed, ${notOrdered} not ordered`;
  note(summary);
  if (stopped !== undefined) {
    if (!(stopped instanceof ApiError || stopped instanceof ConnectionError)) throw stopped;
    note("Nothing is lost and nothing is ordered twice: the same command continues.");
    throw stopped;
  }
  if (failed > 0) {
    const advice = "Correct what is wrong, then add --retry-failed to order the failed ones again.";
    throw new CommandFailure(`not registered: ${failed} of ${outcomes.length} names`, exitCodes.endedInFailure, advice);
  }
  if (wait && ordered > 0) {
    const advice = "Nothing is lost. The same command continues to follow them.";
    throw new CommandFailure(
      `still in progress: ${ordered} of ${outcomes.length} orders`,
      exitCodes.stillGoing,
      advice,
    );
  }
}
