/** Two workers are restarted one after the other, as an upgrade does it, while registrations come all the time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { until } from "./judge.ts";
import { startWithWorkers } from "./worker-process.ts";

const restarts = 10;
const clientsAtOnce = 4;
/** Between two restarts. */
const registrationsBetween = 20;

test("no registration is refused while the workers of a registry are restarted one after the other", async (t) => {
  const { gateway, start } = await startWithWorkers(t);
  const workers = [await start(), await start()];
  const reseller = await gateway.addReseller();
  const refused: string[] = [];
  let accepted = 0;
  let isOver = false;
  const work = async (client: number) => {
    for (let turn = 0; !isOver; turn++) {
      const body = { domain_name: `rolling-${client}-${turn}.example` };
      const answer = await gateway.send(reseller, "POST", "/domains/registrations", { body });
      if (answer.status === 202) accepted += 1;
      else refused.push(`${answer.status} ${answer.text}`);
    }
  };
  const clients = Array.from({ length: clientsAtOnce }, (_, client) => work(client));
  const someMore = () => {
    const target = accepted + refused.length + registrationsBetween;
    return until("more registrations are answered", () => accepted + refused.length > target);
  };
  for (let turn = 0; turn < restarts; turn++) {
    await someMore();
    await workers.shift()!.stop();
    workers.push(await start());
  }
  await someMore();
  isOver = true;
  await Promise.all(clients);
  assert.deepEqual(refused, []);
  const orders = "SELECT count(*)::int AS orders FROM orders WHERE kind = 'create'";
  assert.deepEqual(await runSql(gateway.databaseUrl, orders), [{ orders: accepted }]);
});
