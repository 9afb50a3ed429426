/**
 * For tests: the agent's side of a node in a process of its own, which kills itself in front of the n-th change that it is
 * about to make on disk. Arguments: the settings as JSON, n, and what to apply, one JSON list of states after the other.
 * Ends with 0 when it did everything without reaching its n-th change.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { pino } from "pino";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { accountFromJson } from "#nodes/account-json.ts";
import type { AccountState } from "#nodes/agent-node.ts";

const [settings = "", step = "", ...lists] = process.argv.slice(2);
let isCounting = false;
let changes = 0;

// biome-ignore lint/suspicious/noExplicitAny: functions of any shape, wrapped as they are
function wrap(holder: any, names: readonly string[]): void {
  for (const name of names) {
    const original = holder[name];
    holder[name] = function (this: unknown, ...given: unknown[]) {
      if (isCounting) changes += 1;
      if (changes === Number(step)) process.kill(process.pid, "SIGKILL");
      return original.apply(this, given);
    };
  }
}

wrap(fs, [
  "mkdirSync",
  "chownSync",
  "chmodSync",
  "symlinkSync",
  "renameSync",
  "rmSync",
  "unlinkSync",
  "writeFileSync",
  "writeSync",
]);
wrap(fs.promises, ["mkdir", "rename"]);
const some = await fs.promises.open("/dev/null");
wrap(Object.getPrototypeOf(some), ["appendFile", "writeFile"]);
await some.close();
syncBuiltinESMExports();

// Only now: what is imported before takes the functions as they were.
const { createProftpdNode } = await import("#nodes/proftpd-nginx/node.ts");
const nowhere = { host: "127.0.0.1", port: 9 };
const log = pino({ level: "silent" });
const options = {
  settings: JSON.parse(settings),
  ftp: nowhere,
  web: nowhere,
  clock: systemClock,
  random: systemRandom,
};
const node = await createProftpdNode({ ...options, log });
isCounting = true;
for (const list of lists) await node.apply(JSON.parse(list).map(stateOf));
isCounting = false;
await node.close();

// biome-ignore lint/suspicious/noExplicitAny: as the test has written it
function stateOf(json: any): AccountState {
  return json.kind === "account" ? { kind: "account", account: accountFromJson(json.account) } : json;
}
