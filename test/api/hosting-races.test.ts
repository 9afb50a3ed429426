import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createPasswordQueue } from "#lib/queues/password-queue.ts";
import { systemRandom } from "#lib/random.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const pack = await gateway.addPack({ diskBytesMax: 1_000 });

const create = (as: TestReseller, identifier: string, on = gateway, servicepack_id = pack) =>
  on.send(as, "POST", "/hostingaccounts", { body: { servicepack_id, identifier, password: "correct horse battery" } });
const createMany = (as: TestReseller, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => create(as, `site${index}-${as.id}.example`)));
const stored = async (as: TestReseller) =>
  (await runSql(gateway.databaseUrl, "SELECT FROM hosting_accounts WHERE reseller_id = $1", [as.id])).length;

test("abuse 6: 50 requests at once for one identifier make one account: one 202, 49 times hosting_already_exist", async () => {
  const callers = [await gateway.addReseller(), await gateway.addReseller()] as const;
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, index) => create(callers[index % 2 ? 1 : 0], "wanted.example")),
  );
  assert.equal(replies.filter(({ status }) => status === 202).length, 1);
  for (const reply of replies.filter(({ status }) => status !== 202)) assertError(reply, "hosting_already_exist");
  assert.equal((await stored(callers[0])) + (await stored(callers[1])), 1);
});

test("abuse 29: the cap on accounts holds under 20 requests at once", async () => {
  const reseller = await gateway.addReseller();
  await runSql(gateway.databaseUrl, "UPDATE resellers SET hosting_accounts_max = 3 WHERE id = $1", [reseller.id]);
  const replies = await createMany(reseller, 20);
  assert.equal(replies.filter(({ status }) => status === 202).length, 3);
  for (const reply of replies.filter(({ status }) => status !== 202)) assertError(reply, "bad_request");
  assert.equal(await stored(reseller), 3);
  // A failed account does not count.
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET status = 'Failed' WHERE reseller_id = $1", [
    reseller.id,
  ]);
  assert.equal((await create(reseller, "again.example")).status, 202);
});

test("abuse 29: the cap on bytes holds under 20 requests at once", async () => {
  const reseller = await gateway.addReseller();
  await runSql(gateway.databaseUrl, "UPDATE resellers SET hosting_bytes_max = 4999 WHERE id = $1", [reseller.id]);
  const replies = await createMany(reseller, 20);
  assert.equal(replies.filter(({ status }) => status === 202).length, 4);
  for (const reply of replies.filter(({ status }) => status !== 202)) {
    const { validation_errors } = assertError(reply, "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["servicepack_id"],
    );
  }
  assert.equal(await stored(reseller), 4);
});

test("when too many passwords wait to be hashed the answer is 503 with retry-after, and nothing is stored", async (t) => {
  // 64 ms a hash: the requests come faster than three of them can be hashed.
  const passwordQueue = createPasswordQueue({ waitingMax: 2, cost: 10, random: systemRandom });
  const slow = await startTestGateway(t, { worker: false, context: { passwordQueue } });
  const slowPack = await slow.addPack();
  const reseller = await slow.addReseller();
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, index) => create(reseller, `queued${index}.example`, slow, slowPack)),
  );
  const refused = replies.filter(({ status }) => status !== 202);
  assert.ok(refused.length > 0);
  for (const reply of refused) assertError(reply, "service_unavailable");
  const rows = await runSql(slow.databaseUrl, "SELECT FROM hosting_accounts");
  assert.equal(rows.length, replies.length - refused.length);
});
