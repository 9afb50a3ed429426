import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { accountJobId, parseJobId, registrationJobId } from "#api/v2/job-id.ts";
import { newOrderCode } from "#lib/order-code.ts";
import { systemRandom } from "#lib/random.ts";

/** RFC 9562 section 4: version 8, and the variant of that document. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("the id of a job is a UUID that names its order", () => {
  const codes = [
    "REG-00000000-000",
    "REG-ZZZZZZZZ-ZZZ",
    ...Array.from({ length: 200 }, () => newOrderCode(systemRandom, "REG")),
  ];
  for (const code of codes) {
    const id = registrationJobId(code);
    assert.match(id, uuid);
    assert.deepEqual(parseJobId(id), { kind: "registration", code });
  }
});

test("the id of a job is a UUID that names its hosting account", () => {
  for (const accountId of [1, 999_001, Number.MAX_SAFE_INTEGER]) {
    const id = accountJobId(accountId);
    assert.match(id, uuid);
    assert.deepEqual(parseJobId(id), { kind: "account", accountId });
  }
});

test("no other text is the id of a job", () => {
  const good = registrationJobId("REG-7K3M9QZT-2XV");
  const changed = fc.tuple(fc.nat(good.length - 1), fc.constantFrom(..."0123456789abcdef-"));
  fc.assert(
    fc.property(changed, ([at, character]) => {
      const text = `${good.slice(0, at)}${character}${good.slice(at + 1)}`;
      const job = parseJobId(text);
      if (job === undefined) return;
      assert.equal(job.kind === "registration" ? registrationJobId(job.code) : accountJobId(job.accountId), text);
    }),
  );
  for (const text of ["", "x", `${good} `, good.toUpperCase().replace("8", "4"), good.replaceAll("-", "")]) {
    assert.equal(parseJobId(text), undefined, text);
  }
});
