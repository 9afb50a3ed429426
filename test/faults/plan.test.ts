import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { kindNames } from "#domains/orders/order.ts";
import { changeKinds } from "./kinds.ts";
import { mutations } from "./mutations.ts";
import { kindParts, matrixFrame } from "./page.ts";
import { planWhole } from "./plan.ts";

const seed = 1;
const inRepository = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

test("the same seed plans the same cases, another seed plans others", () => {
  assert.deepEqual(planWhole(seed, 1), planWhole(seed, 1));
  assert.notDeepEqual(planWhole(seed, 1), planWhole(seed + 1, 1));
});

test("docs/faults.md shows every fault at every kill point", async () => {
  const page = await inRepository("docs/faults.md");
  const { head, labels } = matrixFrame();
  for (const part of [head, ...labels.map((label) => `\n| ${label} |`)]) {
    assert.ok(page.includes(part), `not there: ${part}; run npm run test:faults -- --page`);
  }
});

test("docs/faults.md shows every kind of order about registered names", async () => {
  const page = await inRepository("docs/faults.md");
  for (const part of kindParts()) assert.ok(page.includes(`<!-- printed: ${part} -->`), `not there: ${part}`);
  assert.deepEqual(
    [...new Set(changeKinds.map(({ kind }) => kind))].toSorted(),
    kindNames.filter((name) => name !== "create").toSorted(),
    "a kind without an entry in test/faults/kinds.ts",
  );
});

test("every fault that a worker is given has its place in the source", async () => {
  for (const { id, replacements } of mutations) {
    for (const { file, find } of replacements) {
      assert.ok((await inRepository(file)).includes(find), `${id}: ${file} has no "${find}" any more`);
    }
  }
});
