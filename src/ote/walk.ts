/**
 * Runs the steps at a registry, one command after the other, and removes all created objects afterwards: also when a
 * step failed, when an answer was lost, and when it was interrupted.
 */

import { Account } from "#ote/account.ts";
import { Ledger } from "#ote/ledger.ts";
import { createMemory, type Memory, type Who } from "#ote/memory.ts";
import { type WalkPlan, whyNotHere } from "#ote/plan.ts";
import type { StepResult, WalkReport } from "#ote/report.ts";
import type { CommandStep, SessionStep, Step } from "#ote/step.ts";
import { steps } from "#ote/steps.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export interface WalkOptions extends WalkPlan {
  /** Ends the test before the next step; created objects are still removed. */
  readonly signal: AbortSignal;
  /** Called with each step's result. */
  readonly onResult: (result: StepResult) => void;
}

/** The outcome of a step, before it is reported. */
interface Trial {
  commands: string[];
  code?: number | undefined;
  message?: string | undefined;
  failure?: string | undefined;
}

/** A registry that returns a next message for ever must not keep us for ever. */
const commandsPerStepMax = 1_000;

/** Correct answers in the clean-up. 2303: an answer was lost, and the object was never created. */
const goneCodes = [1000, 1001, 2303];
const heldCode = 2305;

/** Never rejects because of the registry's behaviour. */
export function walk(options: WalkOptions): Promise<WalkReport> {
  return new Walk(options).run();
}

class Walk {
  readonly #options: WalkOptions;
  readonly #memory: Memory;
  readonly #accounts: Record<Who, Account>;
  readonly #ledger = new Ledger();
  readonly #results: StepResult[] = [];
  readonly #goesLater = new Set<string>();
  /** Steps without the result that others build on, and why. */
  readonly #missing = new Map<string, string>();

  constructor(options: WalkOptions) {
    this.#options = options;
    const { secondProfile, profile, revealsSecrets, clock, random } = options;
    this.#memory = createMemory(options);
    const accountOf = (own: RegistryProfile) => new Account({ profile: own, revealsSecrets, clock, random });
    this.#accounts = { main: accountOf(profile), second: accountOf(secondProfile ?? profile) };
  }

  async run(): Promise<WalkReport> {
    const { signal, keeps } = this.#options;
    const [ending, walked] = [steps.filter(isEnding), steps.filter((step) => !isEnding(step))];
    for (const step of walked) if (!signal.aborted) await this.#take(step);
    const wasInterrupted = signal.aborted;
    const leftovers = keeps
      ? [...new Set(this.#ledger.inReverse().map(({ what }) => what))].map((what) => ({ what, why: "kept" }))
      : await this.#cleanUp();
    for (const step of ending) await this.#take(step);
    await this.#accounts.second.logOut().catch(() => undefined);
    return { results: this.#results, leftovers, goesLater: [...this.#goesLater], wasInterrupted };
  }

  async #take(step: Step): Promise<void> {
    const notHere = whyNotHere(step, this.#options, this.#memory.extensionURIs);
    if (!this.#options.chosen.has(step.id)) {
      if (notHere === undefined) this.#missing.set(step.id, "was not chosen");
      return;
    }
    if (notHere !== undefined) return this.#skip(step, notHere);
    const obstacle = this.#whyNotNow(step);
    if (obstacle !== undefined) {
      this.#missing.set(step.id, "was skipped");
      return this.#skip(step, obstacle);
    }
    const pointless = step.session === undefined && step.whyNot?.(this.#memory);
    if (pointless) return this.#skip(step, pointless);
    const account = this.#accounts[(step.session === undefined && step.by?.(this.#memory)) || "main"];
    const trial: Trial = { commands: [] };
    await (step.session === undefined
      ? this.#send(step, account, trial)
      : this.#useSession(step, account, trial)
    ).catch((error) => {
      trial.failure = describeFault(error);
    });
    const expected = this.#options.expected.get(step.id) ?? step.expected;
    trial.failure ??= judgeCode(trial.code, expected);
    if (trial.failure !== undefined) this.#missing.set(step.id, "failed");
    else if (trial.code !== undefined && !isSuccess(trial.code) && step.expected.every(isSuccess)) {
      this.#missing.set(step.id, "is refused here, as expected");
    }
    this.#reportTrial(step, expected, account, trial);
  }

  #whyNotNow({ buildsOn = [] }: Step): string | undefined {
    const login = this.#missing.get("login");
    if (login !== undefined) return `the login ${login}`;
    const base = buildsOn.find((other) => this.#missing.has(other));
    return base && `it builds on ${base}, which ${this.#missing.get(base)}`;
  }

  #skip(step: Step, reason: string): void {
    const { id, title, rfc, expected } = step;
    const registrar = this.#accounts.main.registrarId;
    const nothing = { commands: [], code: undefined, message: undefined, frames: [] };
    this.#record({ id, title, rfc, registrar, expected, ...nothing, outcome: "skipped", reason });
  }

  #reportTrial(
    step: Pick<Step, "id" | "title"> & { rfc?: string },
    expected: readonly number[],
    account: Account,
    trial: Trial,
  ) {
    const { id, title, rfc } = step;
    const { commands, code, message, failure } = trial;
    const frames = account.takeFrames();
    const outcome = failure === undefined ? "ok" : "failed";
    const { registrarId: registrar } = account;
    this.#record({ id, title, rfc, registrar, commands, expected, code, message, outcome, reason: failure, frames });
  }

  #record(result: Omit<StepResult, "number">): void {
    const numbered = { number: this.#results.length + 1, ...result };
    this.#results.push(numbered);
    this.#options.onResult(numbered);
  }

  /** @throws the errors of `Account.request` */
  async #send(step: CommandStep, account: Account, trial: Trial): Promise<void> {
    const memory = this.#memory;
    let command: EppCommand<unknown> | undefined = step.command(memory);
    // Recorded before anything is sent: after a lost answer the object may exist.
    const thing = step.makes?.(memory);
    if (thing) this.#ledger.add(thing);
    const takeBack = thing && (() => this.#ledger.takeBack(thing));
    const expected = this.#options.expected.get(step.id) ?? step.expected;
    for (let sent = 0; command && sent < commandsPerStepMax; sent++) {
      trial.commands.push(command.name);
      trial.code = undefined;
      trial.message = undefined;
      const response: EppResponse<unknown> = await sendOrTakeBack(account, command, takeBack);
      trial.code = response.code;
      trial.message = [response.message, ...response.reasons].join("; ");
      if (!isSuccess(response.code)) return takeBack?.();
      const made = thing && (step.makes?.(memory, response.data) ?? thing);
      if (made) {
        this.#ledger.replace(thing, made);
        this.#ledger.confirm(made);
        this.#goesLater.delete(made.what);
      }
      if (step.unmakes) this.#unmake(step.unmakes(memory), response.code);
      if (response.data !== undefined && expected.includes(response.code)) {
        trial.failure = step.judge?.(response.data, memory);
      }
      step.remember?.(memory, response);
      command = step.next?.(memory, response);
    }
    if (command) trial.failure = `there was no end after ${commandsPerStepMax} commands`;
  }

  #unmake(what: string, code: number): void {
    this.#ledger.remove(what);
    if (code === 1001 || (code === 1000 && what.startsWith("domain ") && this.#keepsDeletedNames)) {
      this.#goesLater.add(what);
    }
  }

  /** Some registries answer 1000 although a deleted name stays for a while, and with it what it uses. */
  get #keepsDeletedNames(): boolean {
    const { add, redemption, pendingDelete } = this.#options.profile.graceDays;
    return add === 0 && redemption + pendingDelete > 0;
  }

  async #useSession({ session }: SessionStep, account: Account, trial: Trial): Promise<void> {
    if (session === "login") {
      trial.commands = ["login"];
      try {
        this.#memory.extensionURIs = (await account.session()).services.extensionURIs;
        trial.code = 1000;
      } catch (error) {
        trial.code = error instanceof EppUnavailable ? error.resultCode : undefined;
        throw error;
      }
    } else if (session === "hello") {
      trial.commands = ["hello"];
      await (await account.session()).hello();
    } else if (session === "password-change") {
      trial.commands = ["login", "login"];
      const { password, begin, end } = this.#options.passwordChange!;
      begin();
      await account.changePasswordAndBack(password, end);
      trial.code = 1000;
    } else {
      trial.commands = ["logout"];
      const answer = await account.logOut();
      if (!answer) throw new EppNotSent();
      trial.code = answer.code;
      trial.message = answer.message;
    }
  }

  /** Removes the objects, the newest first. @returns those that remain */
  async #cleanUp(): Promise<WalkReport["leftovers"]> {
    const leftovers = new Map<string, { why: string; partOf: string | undefined }>();
    const unmade = new Set<string>();
    for (const thing of this.#ledger.inReverse()) {
      if (unmade.has(thing.what)) continue;
      const { undo } = thing;
      if (!undo) {
        leftovers.set(thing.what, { why: "only the registry knows its id", partOf: undefined });
        continue;
      }
      const account = this.#accounts[thing.by ?? "main"];
      // A name that is pending deletion holds its contacts and hosts until it is gone.
      const expected = this.#goesLater.size > 0 ? [...goneCodes, heldCode] : goneCodes;
      const trial = await this.#undo(undo, account, expected);
      this.#reportTrial({ id: "clean-up", title: `Clean up: remove ${thing.what}` }, expected, account, trial);
      const isHeld = trial.code === heldCode;
      const why = trial.failure ?? (isHeld ? "in use by a name that is deleted later" : undefined);
      if (why === undefined) {
        this.#unmake(thing.what, trial.code ?? 0);
        unmade.add(thing.what);
      } else leftovers.set(thing.what, { why, partOf: thing.partOf });
    }
    return [...leftovers]
      .filter(([what, { partOf = "" }]) => !unmade.has(what) && !unmade.has(partOf))
      .map(([what, { why }]) => ({ what, why }));
  }

  /** Repeats the command once after a lost answer: for a removed object, the registry says so. */
  async #undo(undo: EppCommand<unknown>, account: Account, expected: readonly number[]): Promise<Trial> {
    const trial: Trial = { commands: [undo.name] };
    try {
      const { code, message } = await account.request(undo).catch((error) => {
        if (!(error instanceof EppUnanswered)) throw error;
        trial.commands.push(undo.name);
        return account.request(undo);
      });
      return { ...trial, code, message, failure: judgeCode(code, expected) };
    } catch (error) {
      return { ...trial, failure: describeFault(error) };
    }
  }
}

/** Steps that run after the clean-up. */
function isEnding({ session }: Step): boolean {
  return session === "logout";
}

/** A lost answer may hide that the command was executed. Without one, certainly nothing was created. */
async function sendOrTakeBack(
  account: Account,
  command: EppCommand<unknown>,
  takeBack: (() => void) | undefined,
): Promise<EppResponse<unknown>> {
  try {
    return await account.request(command);
  } catch (error) {
    if (!(error instanceof EppUnanswered)) takeBack?.();
    throw error;
  }
}

function judgeCode(code: number | undefined, expected: readonly number[]): string | undefined {
  if (expected.length === 0 || (code !== undefined && expected.includes(code))) return undefined;
  return `expected ${expected.join(" or ")}, got ${code ?? "no answer"}`;
}

/** One sentence: the lower layers describe the fault. */
function describeFault(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && error instanceof EppUnanswered ? `${message} (${cause.message})` : message;
}
