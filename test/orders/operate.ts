/** The operator's commands on a test's gateway. */
import assert from "node:assert/strict";
import { cancelOrder } from "#domains/orders/operate.ts";
import { OperatorError } from "#operator-error.ts";
import { masterKey, type TestGateway } from "../harness/gateway.ts";
import { type Ended, runTool } from "../harness/running-system.ts";

/** Runs a command to its end; the word `operator` before it is added. */
export function operate(gateway: TestGateway, ...args: string[]): Promise<Ended> {
  return operateOn(gateway, "", ...args);
}

/** The same, with this as its standard input. */
export function operateOn({ databaseUrl }: TestGateway, input: string, ...args: string[]): Promise<Ended> {
  const key = `1:${masterKey.toString("hex")}`;
  return runTool(["operator", ...args], {
    input,
    env: { ...process.env, DATABASE_URL: databaseUrl, DEEDHOUSE_MASTER_KEY: key },
  });
}

/** The same; it must succeed, and its JSON is returned. */
export async function operated<Result = Record<string, unknown>>(
  gateway: TestGateway,
  ...args: string[]
): Promise<Result> {
  const { code, stdout, stderr } = await operate(gateway, ...args, "--json");
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, args.join(" "));
  return JSON.parse(stdout) as Result;
}

/** Cancels an order. @returns its status then, or the kind of the refusal */
export async function cancel({ context }: TestGateway, code: string): Promise<string> {
  try {
    return (await cancelOrder(context, code)).status;
  } catch (error) {
    if (error instanceof OperatorError) return error.kind;
    throw error;
  }
}

/** Runs a command that must fail, with this exit code and this sentence. */
export async function assertRefused(gateway: TestGateway, args: string[], code: number, sentence: RegExp) {
  const ended = await operate(gateway, ...args);
  assert.match(ended.stderr, sentence);
  assert.deepEqual({ code: ended.code, stdout: ended.stdout }, { code, stdout: "" }, args.join(" "));
}
