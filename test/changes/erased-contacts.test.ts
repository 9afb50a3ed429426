/** What is known of people is erased some time after the last name that used it left. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contact } from "#domains/contacts/contact.ts";
import { eraseContacts } from "#domains/contacts/erase.ts";
import { digestsOf, storeContacts } from "#domains/contacts/stored.ts";
import { setProfile } from "#resellers/profile.ts";
import { ada, grace } from "../harness/contacts.ts";
import { runSql, untilHeldUp } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { change, order, own, type Stage, startStage } from "./stage.ts";

const name = "people.example";
const target = `/domains/${name}/contacts`;
const monthHours = 31 * 24;

async function isKept({ gateway, reseller }: Stage, data: Contact): Promise<boolean> {
  const [digest] = digestsOf(gateway.context.sealer, { resellerId: reseller.id, data });
  return (await runSql(gateway.databaseUrl, "SELECT FROM contacts WHERE digest = $1", [digest])).length > 0;
}

const allKept = async ({ gateway }: Stage) => (await runSql(gateway.databaseUrl, "SELECT FROM contacts")).length;

test("a contact is erased fifteen months after the last name that used it left, and others stay", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock });
  const { gateway, reseller } = stage;
  await change(stage, "PUT", target, { admin: ada });
  await change(stage, "PUT", target, { admin: grace });
  await eraseContacts(gateway.context);
  clock.skip(14 * monthHours);
  await eraseContacts(gateway.context);
  assert.deepEqual([await isKept(stage, ada), await isKept(stage, grace), await allKept(stage)], [true, true, 3]);
  clock.skip(2 * monthHours);
  // The worker does it within a minute, and at its start.
  await gateway.stopWorker();
  await gateway.startWorker();
  await until("it is erased", async () => !(await isKept(stage, ada)));
  assert.deepEqual([await isKept(stage, grace), await allKept(stage)], [true, 2]);
  const { body } = await gateway.send(reseller, "GET", target);
  assert.deepEqual((body as { admin: unknown }).admin, grace);
  assert.equal((await change(stage, "PUT", target, { tech: ada })).status, "Finished");
  assert.equal(await isKept(stage, ada), true, "who is named again is kept again");
});

test("a former profile is erased like every contact, and the present one stays, even without names", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock });
  const { gateway, reseller } = stage;
  await change(stage, "PUT", target, { registrant: ada, admin: ada, tech: ada });
  const erased = async () => {
    await eraseContacts(gateway.context);
    clock.skip(16 * monthHours);
    await eraseContacts(gateway.context);
    return allKept(stage);
  };
  assert.equal(await erased(), 2);
  await setProfile(gateway.context, reseller.id, {
    fullName: "Rita Newname",
    email: "rita@newname.example",
    phone: "+32.25550101",
    street: "Side Street 2",
    city: "Brussels",
    postalCode: "1000",
    countryCode: "BE",
  });
  assert.equal(await erased(), 1);
  await own(stage, "next.example");
  assert.equal(await allKept(stage), 2);
});

test("a contact that a request names while it is being erased stays", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [], { clock });
  const { gateway, reseller } = stage;
  const { context } = gateway;
  await storeContacts(context, context.database, reseller.id, [ada]);
  await eraseContacts(context);
  clock.skip(16 * monthHours);
  const erasing = await context.database.transaction(async (tx) => {
    await storeContacts(context, tx, reseller.id, [ada]);
    const running = eraseContacts(context);
    await untilHeldUp(gateway.databaseUrl);
    return { running };
  });
  await erasing.running;
  assert.equal(await isKept(stage, ada), true);
});

test("a contact that an open order names is not erased", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock });
  const { gateway } = stage;
  await gateway.stopWorker();
  const location = await order(stage, "PUT", target, { admin: ada });
  await eraseContacts(gateway.context);
  clock.skip(16 * monthHours);
  await eraseContacts(gateway.context);
  assert.equal(await isKept(stage, ada), true);
  await gateway.startWorker();
  assert.equal((await gateway.settled(stage.reseller, location)).kind, "contacts");
});
