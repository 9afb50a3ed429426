/** Alarms of moves whose nodes are down. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { openHostingNodes } from "#hosting/drivers/open.ts";
import { endMove, getMove } from "#hosting/moves/manage.ts";
import { startMove } from "#hosting/moves/move.ts";
import { advanceMove } from "#hosting/moves/steps.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { eventually, startHostingStage } from "./stage.ts";

/** No worker runs here: a test moves the clock and runs steps when it needs to. */
const clock = createManualClock(unixSeconds(systemClock));
const stage = await startHostingStage({ after }, { clock, worker: false });
const { context } = stage.gateway;
const second = await startTestNode();
after(() => second.close());
const nodes = await openHostingNodes(context);
after(() => nodes.close());

// They are created before the second node exists.
const [id] = [await stage.ready("stuck.example"), await stage.ready("cancelled.example")];
await stage.gateway.addNode(second, { id: "second" });

const minuteMs = 60_000;

/** The note of the open alarm about the account's move. */
async function alarmOf(identifier: string, ofKind = "hosting-move-stuck"): Promise<string | undefined> {
  const open = await listAlarms(context, { all: false, limit: 100 });
  return open.find(({ kind, subject }) => kind === ofKind && subject === identifier)?.note;
}

test("a move whose node is down for ten minutes raises an alarm until it makes progress", async () => {
  const identifier = "stuck.example";
  const { moveId } = await startMove(context, { identifier, to: "second", graceSeconds: 7_200 });
  await stage.advance(id);
  const advance = async () => {
    await advanceMove(context, nodes, moveId);
    return [(await getMove(context, moveId)).state, await alarmOf(identifier)] as const;
  };
  const awayForLong = async (state: string) => {
    await stage.agentLeaves();
    const since = clock.now().toISOString();
    assert.deepEqual(await advance(), [state, undefined], "it may be over in a moment");
    clock.advance(5 * minuteMs);
    assert.deepEqual(await advance(), [state, undefined]);
    clock.advance(6 * minuteMs);
    // An agent whose request comes while the clock jumps counts as back and changes the move's row, so a step may be overtaken.
    const alarm = await eventually("the alarm is raised", async () => {
      const [now, note] = await advance();
      assert.equal(now, state);
      return note;
    });
    assert.ok(alarm.startsWith(`still ${state} since ${since}: `), alarm);
    await stage.agentReturns();
  };
  /** Until the last request from the silence has ended, the node counts as hung, and a step may fail once more. */
  const goesOnTo = (state: string) =>
    eventually(`${state} without an alarm`, async () => {
      const [now, note] = await advance();
      return now === state && note === undefined;
    });

  await awayForLong("Copying");
  await goesOnTo("Freezing");
  await stage.advance(id);
  assert.deepEqual(await advance(), ["Finishing", undefined]);
  assert.deepEqual(await advance(), ["Leaving", undefined]);
  clock.advance(20 * minuteMs);
  assert.deepEqual(await advance(), ["Leaving", undefined], "the grace time is no trouble");

  await awayForLong("Leaving");
  await goesOnTo("Leaving");
  clock.advance(120 * minuteMs);
  await awayForLong("Leaving");
  await goesOnTo("Moved");
});

test("a stuck move that is cancelled keeps only the alarm of moves that were given up", async () => {
  const identifier = "cancelled.example";
  const { moveId } = await startMove(context, { identifier, to: "second", graceSeconds: 0 });
  await stage.agentLeaves();
  await advanceMove(context, nodes, moveId);
  clock.advance(11 * minuteMs);
  await advanceMove(context, nodes, moveId);
  assert.match((await alarmOf(identifier)) ?? "", /^still Copying since /);
  await endMove(context, identifier, "cancel");
  await stage.agentReturns();
  await advanceMove(context, nodes, moveId);
  await advanceMove(context, nodes, moveId);
  assert.deepEqual(
    [(await getMove(context, moveId)).state, await alarmOf(identifier), await alarmOf(identifier, "hosting-move")],
    ["Returned", undefined, "cancelled by the operator"],
  );
});
