import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { startTestGateway } from "../harness/gateway.ts";
import { makeWebhook, startReceiver, tell, textsOf, until } from "./stage.ts";

const gateway = await startTestGateway({ after });

test("a new webhook gets what was underway when it was made, and nothing from before", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const underway = new pg.Client({ connectionString: gateway.databaseUrl });
  await underway.connect();
  t.after(() => underway.end());
  await underway.query("BEGIN");
  await underway.query(
    `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     VALUES ('a.example', $1, now(), 'registry-notice', 'underway')`,
    [reseller.id],
  );
  // A later transaction, which ends before the webhook is made.
  await tell(gateway, reseller, "before");
  await makeWebhook(gateway, reseller, receiver.url);
  await underway.query("COMMIT");
  await tell(gateway, reseller, "after");
  await until("what follows arrives", () => textsOf(receiver.received).includes("after"));
  assert.deepEqual(textsOf(receiver.received).sort(), ["after", "underway"]);
});
