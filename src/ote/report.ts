/** What a walk tells. */
import type { Frame } from "#ote/account.ts";

export interface StepResult {
  readonly number: number;
  readonly id: string;
  readonly title: string;
  readonly rfc: string | undefined;
  /** Who sent it. */
  readonly registrar: string;
  /** The commands, in order: "domain:create". */
  readonly commands: readonly string[];
  readonly expected: readonly number[];
  /** The last answer's; undefined when there was none. */
  readonly code: number | undefined;
  /** What the registry said with it, for people. */
  readonly message: string | undefined;
  /** "unsent": only shown. */
  readonly outcome: "ok" | "failed" | "skipped" | "unsent";
  /** Why it failed or was skipped. */
  readonly reason: string | undefined;
  readonly frames: readonly Frame[];
}

export interface WalkReport {
  readonly results: readonly StepResult[];
  /** What could not be taken away, and why. */
  readonly leftovers: readonly { readonly what: string; readonly why: string }[];
  /** What the registry takes away by itself, in time. */
  readonly goesLater: readonly string[];
  readonly wasInterrupted: boolean;
}
