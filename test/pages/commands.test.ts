/** Which commands of the documentation tests run: all in its blocks of shell commands, but for those of a table. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repository } from "../harness/running-system.ts";
import { confirmed, elsewhere, input, ownTests, refused, untilStopped } from "./command-table.ts";
import { pagesWithCommands, shellBlocks } from "./shell-blocks.ts";

const blocks = shellBlocks();
const commands = blocks.flatMap((block) => block.commands);

test("every block of shell commands is one that commands.slow.test.ts runs, or a program of the quick start", () => {
  const shell = /^ *(?:`{3,}|~{3,}) *(?:sh|bash|shell|shellscript|zsh|console)\b.*$/gm;
  for (const page of pagesWithCommands()) {
    const fences = readFileSync(page, "utf8").match(shell) ?? [];
    const programs = page.endsWith("docs/start.md") ? fences.filter((fence) => fence.endsWith("sh [curl]")) : [];
    const found = blocks.filter((block) => page.endsWith(`/${block.page}`));
    assert.equal(
      found.length,
      fences.length - programs.length,
      `${page}: begin the block with sh, bash or console alone`,
    );
  }
  assert.ok(commands.length > 70);
});

test("the table of commands has only those that a page has", () => {
  const tables = { elsewhere, input, refused, untilStopped };
  const listed = [...confirmed, ...Object.values(tables).flatMap(Object.keys)];
  const gone = listed.filter((command) => !commands.includes(command));
  assert.deepEqual(gone, [], "remove it from test/pages/command-table.ts, or correct it there");
});

test("a page with a test of its own has the blocks of commands that this test runs", () => {
  for (const [page, { path, blocks: count }] of Object.entries(ownTests)) {
    assert.equal(blocks.filter((block) => block.page === page).length, count, `${page}: does ${path} run all of them?`);
    assert.ok(readFileSync(join(repository, path), "utf8").includes(`"${page}"`), `${path} does not read ${page}`);
  }
});

test("what the running system refuses, another test does with success", () => {
  for (const [command, { success }] of Object.entries(refused)) {
    const [group, verb] = command.split(" ").filter((word) => !["deedhouse", "operator"].includes(word));
    const source = readFileSync(join(repository, success), "utf8");
    assert.match(source, new RegExp(`"${group}", "${verb}"`), `${success} does not run ${command}`);
  }
});

test("a command has several lines after a backslash and inside of quotes, and comments are not part of it", () => {
  const long = commands.find((command) => command.startsWith("openssl req"));
  assert.match(long ?? "", / -keyout [^\n]* -out /);
  const quoted = commands.find((command) => command.includes("signature-check"));
  assert.match(quoted ?? "", /-d '\{\n.*\}'$/s);
  assert.ok(commands.includes("deedhouse node list"));
});
