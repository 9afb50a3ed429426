import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();

/** Writes an event that happened at this time. */
const happen = (at: string, text: string) =>
  runSql(
    gateway.databaseUrl,
    `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     VALUES ('told.example', $1, $2::timestamptz, 'registry-notice', $3)`,
    [reseller.id, at, text],
  );

async function read(target: string) {
  const { status, body, headers } = await gateway.send(reseller, "GET", target);
  assert.equal(status, 200);
  const texts = (body as { data: { text: string } }[]).map(({ data }) => data.text);
  return { texts, next: /<([^>]+)>/.exec(headers.link ?? "")![1]! };
}

test("events can be read from now on, or since a time", async () => {
  await happen("2026-01-01T10:00:00Z", "first");
  await happen("2026-01-01T12:00:00Z", "second");
  await happen("2026-01-01T12:00:30Z", "third");
  const now = await read("/events?after=now");
  assert.deepEqual(now.texts, []);
  await happen("2026-01-01T14:00:00Z", "fourth");
  assert.deepEqual((await read(now.next)).texts, ["fourth"], "what happens later is not passed over");
  const since = async (time: string) => (await read(`/events?after=${encodeURIComponent(time)}`)).texts;
  assert.deepEqual(await since("2026-01-01T14:00:00+00:00"), ["fourth"]);
  assert.deepEqual(await since("2026-01-01T12:00:30Z"), ["second", "third", "fourth"], "at most a minute too early");
  assert.deepEqual(await since("2026-01-01"), ["first", "second", "third", "fourth"]);
  assert.deepEqual(await since("2030-01-01"), []);
});
