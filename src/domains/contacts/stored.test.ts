import assert from "node:assert/strict";
import { test } from "node:test";
import { digestsOf, findOtherRole, refsOf } from "#domains/contacts/stored.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { ada } from "../../../test/harness/contacts.ts";

const sealerOf = (...ids: string[]) =>
  createSealer({
    keys: ids.map((id) => ({ id, key: new Secret(Buffer.alloc(32, `key ${id}`)) })),
    random: systemRandom,
  });

const contact = { resellerId: 7, data: ada };

test("a contact is recognized after the master key was replaced", () => {
  const refs = refsOf({ sealer: sealerOf("old") }, 7, { tech: ada });
  const sealer = sealerOf("new", "old");
  assert.ok(digestsOf(sealer, contact).includes(refs.tech ?? ""));
  assert.equal(findOtherRole({ sealer }, 7, { tech: ada }, refs), undefined);
  assert.equal(findOtherRole({ sealer: sealerOf("new") }, 7, { tech: ada }, refs), "tech");
});

test("equal data of two resellers, and other data of one, have digests of their own", () => {
  const sealer = sealerOf("1");
  const digests = [contact, { resellerId: 8, data: ada }, { resellerId: 7, data: { ...ada, fax: ada.phone } }].flatMap(
    (one) => digestsOf(sealer, one),
  );
  assert.equal(new Set(digests).size, 3);
});
