/** A registrar whose EPP client nobody here wrote: Debian's libnet-epp-perl, as a process that answers questions. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Scope } from "../harness/database.ts";

const isMissing = spawnSync("perl", ["-MNet::EPP::Simple", "-e", "1"]).status !== 0;
/** Why a test cannot run. */
export const noNetEpp = isMissing && "libnet-epp-perl is not installed";

/** What an answer brought, in the client's own words, with its result code. */
export type Seen = Record<string, unknown> & { code: number };

export interface PerlRegistrar {
  /** The answer to its login. */
  login: Seen;
  /** Sends a request of net-epp-registrar.pl. */
  ask(...words: string[]): Promise<Seen>;
}

interface Account {
  id: string;
  password: string;
  /** URIs; default: all that the greeting announces. */
  extensions?: string[];
}

/** Logs in. It must not warn of anything. */
export async function loginPerl(
  scope: Scope,
  { port, caFile }: { port: number; caFile: string },
  { id, password, extensions = [] }: Account,
): Promise<PerlRegistrar> {
  const script = join(import.meta.dirname, "net-epp-registrar.pl");
  const child = spawn("perl", [script, String(port), caFile, id, password, ...extensions]);
  const exited = once(child, "exit");
  let warnings = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    warnings += text;
  });
  // A refused login ends it before it reads anything.
  child.stdin.on("error", () => {});
  scope.after(async () => {
    child.kill();
    await exited;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    assert.equal(warnings, "", "warnings of the client");
    if (done) throw new Error("the client has ended");
    return JSON.parse(value) as Seen;
  };
  return {
    login: await next(),
    ask(...words) {
      child.stdin.write(`${words.join(" ")}\n`);
      return next();
    },
  };
}
