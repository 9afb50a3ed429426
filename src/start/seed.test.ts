import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { seedSandbox } from "#start/seed.ts";
import { scopes } from "#use-case/use-case.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { runSql } from "../../test/harness/sql.ts";

test("the key of a folder of an earlier release gets the scopes that a new folder's key has", async (t) => {
  const { url, database } = await testDatabase(t);
  const sealer = createSealer({ keys: [{ id: "1", key: new Secret(systemRandom.bytes(32)) }], random: systemRandom });
  const context = {
    database,
    sealer,
    clock: systemClock,
    random: systemRandom,
    [Symbol.asyncDispose]: async () => {},
  };
  const first = await seedSandbox(context, undefined);
  assert.equal(first.isNew, true);
  const scopesOf = () => runSql<{ scopes: string[] }>(url, "SELECT scopes FROM api_keys");
  assert.deepEqual(await scopesOf(), [{ scopes }]);
  await runSql(url, "UPDATE api_keys SET scopes = $1", [["domains:register", "domains:read"]]);
  const again = await seedSandbox(context, undefined);
  assert.deepEqual([again.isNew, again.key.id], [false, first.key.id]);
  assert.deepEqual(await scopesOf(), [{ scopes }]);
});
