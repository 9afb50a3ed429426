import assert from "node:assert/strict";
import { after, test } from "node:test";
import { unixSeconds } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { newNonce, type Reply, sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const twinsCount = 10_000;
/** Every hundredth is a write, which may also get the stored answer of its twin. */
const writesEvery = 100;
const pairsAtOnce = 32;

const gateway = await startTestGateway({ after });
const settings = { DEEDHOUSE_NONCES: "database", DEEDHOUSE_SOURCE_FAILURES_MAX: "1000000" };
const start = () => startApiProcess({ after }, gateway, gateway.databaseUrl, settings);
const apis = [await start(), await start()] as const;
const reseller = await gateway.addReseller({ rateLimit: 1_000_000 });

/** The same request, byte for byte, to both apis at once. */
function sendTwins(number: number): Promise<Reply[]> {
  const { clock } = gateway.context;
  const signed = { key: reseller.key, clock, nonce: newNonce(), timestamp: unixSeconds(clock) };
  const request =
    number % writesEvery === 0
      ? { method: "POST", target: "/domains/registrations", body: { domain_name: `twin-${number}.example` } }
      : { method: "GET", target: "/domains" };
  const toOne = ({ url }: ApiProcess) => sendSigned({ url, ...signed, ...request });
  return Promise.all(apis.map(toOne));
}

test("of 10,000 requests that two apis get at once, none is answered twice", async () => {
  let number = 0;
  let answeredReads = 0;
  const run = async () => {
    for (let own = number++; own < twinsCount; own = number++) {
      const replies = await sendTwins(own);
      const answered = replies.filter(({ status }) => status !== 401);
      for (const reply of replies.filter(({ status }) => status === 401)) {
        assertError(reply, "authorization_nonce_reused");
      }
      if (own % writesEvery === 0) {
        assert.ok(answered.length >= 1);
        assert.ok(
          answered.every(({ status }) => status === 202),
          answered.map(({ text }) => text).join(),
        );
        assert.equal(
          new Set(answered.map(({ headers }) => headers.location)).size,
          1,
          "the other is the stored answer",
        );
      } else {
        assert.deepEqual(
          answered.map(({ status }) => status),
          [200],
          replies.map(({ text }) => text).join(),
        );
        answeredReads++;
      }
    }
  };
  await Promise.all(Array.from({ length: pairsAtOnce }, run));
  const writes = twinsCount / writesEvery;
  assert.equal(answeredReads, twinsCount - writes);
  const [made] = await runSql(
    gateway.databaseUrl,
    "SELECT count(*)::int AS orders, count(DISTINCT domain_name)::int AS names FROM orders WHERE kind = 'create'",
  );
  assert.deepEqual(made, { orders: writes, names: writes });
});
