import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { ourFiles } from "./house-style/source.ts";

const files = await ourFiles();
const documents = files.filter(({ path }) => path.endsWith(".md") && path !== "CHANGELOG.md");
const baseNames = new Set(files.map(({ path }) => posix.basename(path)));

/** "`src/api/edge.ts`", "`routes.ts`", "`src/api/`": what looks like a file or folder of ours, not like a URL's path. */
const named =
  /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|sql|md|txt|json|xsd)|(?:src|client|sandbox|db|docs|test|bench|ops|bin|schemas)\/[\w./-]*)`/g;
/** The targets of links that stay in the repository. */
const linked = /\]\((?!https?:|#|mailto:)([^)#\s]+)/g;

for (const { path, text } of documents) {
  test(`${path} names only files that exist`, () => {
    const folder = posix.dirname(path);
    const inFolder = (target: string) => existsSync(posix.join(folder, target));
    const isThere = (target: string) => existsSync(target) || inFolder(target) || baseNames.has(target);
    const dead = [
      ...[...text.matchAll(named)].map(([, target]) => target!).filter((target) => !isThere(target)),
      ...[...text.matchAll(linked)].map(([, target]) => target!).filter((target) => !inFolder(target)),
    ];
    assert.deepEqual(dead, [], "correct the path, or the sentence");
  });
}
