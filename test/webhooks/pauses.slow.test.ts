/** How long a webhook pauses after failures, on a movable clock. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { seededRandom } from "../harness/seeded-random.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { type MadeWebhook, makeWebhook, startReceiver, tell, textsOf, until } from "./stage.ts";

const clock = createSteeredClock();
const gateway = await startTestGateway({ after }, { clock });
const minuteMs = 60_000;

interface Reading {
  /** Until the next step; null: the webhook waits for events. */
  restMs: number | null;
}

async function read({ id }: MadeWebhook): Promise<Reading> {
  const [row] = await runSql<{ next_step_at: Date | null }>(
    gateway.databaseUrl,
    "SELECT next_step_at FROM webhooks WHERE webhook_code = $1",
    [id],
  );
  const next = row!.next_step_at;
  return { restMs: next && next.getTime() - clock.now().getTime() };
}

/** Moves the clock to the webhook's next step, when none is in progress. @returns how long nothing was sent */
async function skipPause(webhook: MadeWebhook, isOver: () => boolean = () => false): Promise<number> {
  let rest = 0;
  await until("a step has ended", async () => {
    rest = (await read(webhook)).restMs ?? 0;
    return rest > 0 || isOver();
  });
  if (rest <= 0) return 0;
  clock.skip((rest + 1) / 3_600_000);
  // The engine looks at the clock when a row is written.
  await runSql(gateway.databaseUrl, "UPDATE webhooks SET next_step_at = next_step_at WHERE webhook_code = $1", [
    webhook.id,
  ]);
  return rest;
}

test("a receiver that fails one time in five is never silent for more than two minutes", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const random = seededRandom(5);
  const stored = new Set<string>();
  receiver.answer = (response, { event }) => {
    const isFailure = random(5) === 0;
    if (!isFailure) stored.add(event.id);
    response.writeHead(isFailure ? 500 : 204).end();
  };
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  let [told, longestMs] = [0, 0];
  while (told < 300) {
    await tell(gateway, owner, ...Array.from({ length: 20 }, (_, index) => `${told + index}`));
    told += 20;
    const isStored = () => stored.size === told;
    while (!isStored()) longestMs = Math.max(longestMs, await skipPause(webhook, isStored));
  }
  assert.ok(receiver.received.length > told + 50, "it has failed often enough");
  assert.ok(longestMs <= 2 * minuteMs, `it was silent for ${Math.round(longestMs / 1_000)} s`);
});

test("pauses grow with the age of an outage, to half an hour", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(500).end();
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await tell(gateway, owner, ...Array.from({ length: 100 }, (_, index) => `${index}`));
  let [ageMs, failures] = [0, 0];
  for (; ageMs < 6 * 60 * minuteMs; failures++) {
    const restMs = await skipPause(webhook);
    const mostMs = Math.min(30 * minuteMs, Math.max(5_000, ageMs / 2 + minuteMs));
    assert.ok(restMs <= mostMs, `${restMs} ms in an outage of ${ageMs} ms`);
    ageMs += restMs;
  }
  assert.ok(failures < 40, `${failures} attempts in six hours`);
});

test("a webhook that pauses counts all that waits, and sends a new event when the pause ends", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(500).end();
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await tell(gateway, owner, "one", "two", "three");
  let restMs = 0;
  for (; restMs < 2 * minuteMs; restMs = (await read(webhook)).restMs ?? 0) {
    await skipPause(webhook);
    await until("it has failed", async () => ((await read(webhook)).restMs ?? 0) > 0);
  }
  await tell(gateway, owner, ...Array.from({ length: 60 }, (_, index) => `later ${index}`));
  const shown = (await gateway.send(owner, "GET", webhook.path)).body as { pending: number };
  assert.equal(shown.pending, 63);
  // Of those that were tried, none is due for hours: what is new is not delayed by them.
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhook_deliveries SET next_at = next_at + interval '9 hours' FROM webhooks WHERE webhooks.id = webhook_id AND webhook_code = $1",
    [webhook.id],
  );
  receiver.answer = (response) => void response.writeHead(204).end();
  while (!textsOf(receiver.received).includes("later 59")) {
    assert.ok((await skipPause(webhook, () => textsOf(receiver.received).includes("later 59"))) <= 30 * minuteMs);
  }
});
