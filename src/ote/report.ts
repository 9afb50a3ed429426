/** The report of a test. */
import type { Frame } from "#ote/account.ts";

export interface StepResult {
  readonly number: number;
  readonly id: string;
  readonly title: string;
  readonly rfc: string | undefined;
  /** The registrar that sent it. */
  readonly registrar: string;
  /** The commands, in order: "domain:create". */
  readonly commands: readonly string[];
  readonly expected: readonly number[];
  /** The last answer's code; undefined when there was none. */
  readonly code: number | undefined;
  /** The registry's message for people. */
  readonly message: string | undefined;
  /** "unsent": shown only. */
  readonly outcome: "ok" | "failed" | "skipped" | "unsent";
  /** Why it failed or was skipped. */
  readonly reason: string | undefined;
  readonly frames: readonly Frame[];
}

export interface WalkReport {
  readonly results: readonly StepResult[];
  /** Objects that could not be removed, and why. */
  readonly leftovers: readonly { readonly what: string; readonly why: string }[];
  /** Objects that the registry removes later. */
  readonly goesLater: readonly string[];
  readonly wasInterrupted: boolean;
}
