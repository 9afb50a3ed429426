import type { ErrorCode } from "#errors.ts";
import type { TestReseller } from "../harness/gateway.ts";

/** A request that provokes an error. */
export interface Scenario {
  as?: TestReseller;
  target: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Checks the error's body, beyond the rules for all errors. */
  says?: RegExp;
  fields?: string[];
  arrange?(): Promise<unknown>;
  tidy?(): Promise<unknown>;
}

/** By method and path, and code: the requests that provoke it. */
export type Scenarios = Record<string, Partial<Record<ErrorCode, Scenario[]>>>;

/** Queries that no list takes. */
export const wrongPaging = [
  "skip=-1",
  "take=0",
  "take=x",
  "skip=1.0",
  "skip=0&skip=0",
  "cursor=00",
  "take=",
  "skip=1e3",
];
