/** A program of the database's cluster fails, or the path to it. */
import assert from "node:assert/strict";
import { sleep } from "#lib/clock.ts";
import { answerMsMax, type Fault, testFaults } from "./play.ts";

const silenceMs = 25_000;
/** What a supervisor takes to start a program again. */
const supervisorMs = 1_000;
const nothing = async () => {};

const faults: Fault[] = [
  {
    name: "the primary's PostgreSQL alone is killed",
    async cause({ cluster }) {
      await cluster.run("kill", await cluster.primary(), "postgres");
      return nothing;
    },
  },
  {
    name: "HAProxy is killed, and started again",
    async cause({ cluster }) {
      await cluster.run("kill", "haproxy");
      await sleep(supervisorMs);
      await cluster.run("boot", "haproxy");
      return nothing;
    },
  },
  {
    name: `the path to the database is silent for ${silenceMs / 1000} s`,
    lastsMs: silenceMs,
    async cause({ path }) {
      path.dropRoute();
      await sleep(silenceMs);
      path.restore();
      return nothing;
    },
    check(attempts) {
      assert.ok(attempts.length > 0);
      for (const { name, status, startedMs, endedMs } of attempts) {
        assert.equal(status, 503, name);
        assert.ok(endedMs - startedMs <= answerMsMax, `${name} was answered after ${endedMs - startedMs} ms`);
      }
    },
  },
];

testFaults("the database's cluster loses a program, and no acknowledged registration", faults);
