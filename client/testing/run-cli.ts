import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { apiKey, apiSecret } from "./stand-in-service.ts";

const entry = fileURLToPath(new URL("cli-entry.ts", import.meta.url));

export interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  /** Added to the settings for the stand-in service; `undefined` removes one. */
  env?: Record<string, string | undefined>;
  stdin?: string;
}

/** Runs the tool against a service as a child process, without a terminal. */
export async function runCli(url: string, args: string[], { env, stdin = "" }: CliOptions = {}): Promise<CliResult> {
  const settings = { DEEDHOUSE_URL: url, DEEDHOUSE_API_KEY: apiKey, DEEDHOUSE_API_SECRET: apiSecret };
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // Tests do not use the profiles of the person who runs them.
  const surroundings = {
    PATH,
    DEEDHOUSE_PROFILES: "/nonexistent/profiles.json",
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
  };
  const child = spawn(process.execPath, [entry, ...args], { env: { ...surroundings, ...settings, ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdin.on("error", () => {}); // a tool that needs no input may exit before it is written
  child.stdin.end(stdin);
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { exitCode, stdout, stderr };
}
