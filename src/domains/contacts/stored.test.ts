import assert from "node:assert/strict";
import { test } from "node:test";
import { digestsOf, findOtherRole, refsOf } from "#domains/contacts/stored.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";

const sealerOf = (...ids: string[]) =>
  createSealer({
    keys: ids.map((id) => ({ id, key: new Secret(Buffer.alloc(32, `key ${id}`)) })),
    random: systemRandom,
  });

const data = {
  first_name: "Ada",
  last_name: "Byron",
  email: "ada@mail.example",
  phone: "+44.2079460001",
  address: "Mews 7",
  postal_code: "EC1A 1BB",
  city: "London",
  country_code: "GB",
};
const contact = { resellerId: 7, data };

test("a contact is recognized after the master key was replaced", () => {
  const refs = refsOf({ sealer: sealerOf("old") }, 7, { tech: data });
  const sealer = sealerOf("new", "old");
  assert.ok(digestsOf(sealer, contact).includes(refs.tech ?? ""));
  assert.equal(findOtherRole({ sealer }, 7, { tech: data }, refs), undefined);
  assert.equal(findOtherRole({ sealer: sealerOf("new") }, 7, { tech: data }, refs), "tech");
});

test("equal data of two resellers, and other data of one, have digests of their own", () => {
  const sealer = sealerOf("1");
  const digests = [contact, { resellerId: 8, data }, { resellerId: 7, data: { ...data, fax: data.phone } }].flatMap(
    (one) => digestsOf(sealer, one),
  );
  assert.equal(new Set(digests).size, 3);
});
