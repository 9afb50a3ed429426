import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { Command, Help } from "commander";
import { apiDocument } from "#api/open-routes.ts";
import { addCommands, operatorCommands } from "#operator/commands.ts";
import { addClientCommands } from "../client/cli/client-commands.ts";
import manifest from "../package.json" with { type: "json" };
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

test("ARCHITECTURE.md names only functions, columns and notifications that there are", () => {
  const { text } = documents.find(({ path }) => path === "ARCHITECTURE.md")!;
  const sources = files
    .filter(({ path }) => /^(src|db|test\/harness)\/.*\.(ts|sql)$/.test(path))
    .map((file) => file.text);
  const names = [...text.matchAll(/`([a-z]+(?:[A-Z_]\w*)+)`/g)].map(([, name]) => name!);
  assert.ok(names.length > 10);
  const dead = names.filter((name) => !sources.some((source) => new RegExp(`\\b${name}\\b`).test(source)));
  assert.deepEqual(dead, [], "correct the name, or the sentence");
});

/** Idioms that are hard to read for people who learned English from documentation, each with what to write instead. */
const idioms: [RegExp, string][] = [
  [/\bbeside\b/i, "next to, in addition to"],
  [/\b(no|some|every|any)body\b/i, "name who it is, or use the passive voice"],
  [/\bby hand\b/i, "on request, yourself"],
  [/\bturned down\b/i, "rejected"],
  [/\bcall(s|ed)? (an|the) operator\b/i, "alerts"],
  [/\b(a|another|one|two|first|second|fresh|next|last) looks?\b/i, "a lookup, a check"],
  [/\b(is|are|was|were) told\b/i, "is notified, gets"],
  [/, too\b(?! (many|much|few|long|late))/, "also"],
  [/\bof (its|their|our|your) own\b/, "separate, another"],
  [/\bevery try\b/i, "all attempts"],
];

/** Without what is printed, code, and the quoted names of tests. */
const proseOf = (text: string) =>
  text
    .replace(/<!-- printed: .*? -->.*?<!-- end -->/gs, "")
    .replace(/```.*?```/gs, "")
    .replace(/`[^`\n]*`/g, "")
    .replace(/"[^"\n]*"/g, "");

const idiomsIn = (text: string) =>
  idioms.flatMap(([idiom, instead]) => {
    const found = idiom.exec(text.replaceAll("\n", " "));
    return found ? [`${text.slice(Math.max(0, found.index - 30), found.index + 30)}: ${instead}`] : [];
  });

/** Decisions are history, and the texts of errors are part of the API. */
const isProse = (path: string) => /^(docs\/)?[\w-]+\.md$/.test(path) && path !== "docs/errors.md";
for (const { path, text } of documents.filter((document) => isProse(document.path))) {
  test(`${path} is plain English`, () => assert.deepEqual(idiomsIn(proseOf(text)), []));
}

/** The descriptions and summaries in a part of openapi.json. */
function describedIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([key, value]: [string, unknown]) => {
    if (key === "example" || key === "examples") return [];
    return typeof value === "string" && (key === "description" || key === "summary") ? [value] : describedIn(value);
  });
}

test("the descriptions of openapi.json are plain English", () => {
  const described = describedIn(apiDocument());
  assert.ok(described.length > 300);
  assert.deepEqual(
    described.flatMap((text) => idiomsIn(proseOf(text))),
    [],
  );
});

test("an idiom is found, but not in code or in the name of a test", () => {
  assert.equal(
    idiomsIn(proseOf("An order of its own, which nobody\nsends by hand, calls an operator, too.")).length,
    5,
  );
  assert.deepEqual(idiomsIn(proseOf('`by-hand-1` and `src/domains/compare/looks.ts`, "harms nobody"')), []);
});

const tool = new Command("deedhouse");
addClientCommands(tool);
await addCommands(tool, operatorCommands, []);
/** Started by the entry point itself; each has a help of its own. */
const roles = new Set(["start", "api", "worker", "node", "sandbox-registry"]);
/** "deedhouse operator orders list --attention", in a line of code or between backticks. */
const called = /(?:^|`|npx )deedhouse ((?:[^`\n\\]|\\\n)*)/gm;

test("each page with npx says that it works inside the clone only", () => {
  const pages = documents.filter(({ text }) => text.includes("npx deedhouse"));
  assert.ok(pages.length > 4);
  const silent = pages.filter(({ text }) => !/npx\s+asks\s+the\s+npm\s+registry/.test(text)).map(({ path }) => path);
  assert.deepEqual(silent, []);
});

/** What is wrong with a call of the tool; nothing when every command and option of it exists. */
function problemOf(call: string): string | undefined {
  const words = call
    .replace(/\s#.*/, "")
    .replace(/'[^']*'/g, "TEXT")
    .split(/[\s|]+/);
  let command: Command = tool;
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next) command = next;
    else if (command === tool) return roles.has(word) || !/^[a-z]/.test(word) ? undefined : `no command ${word}`;
    else if (command.commands.length > 0)
      return /^[a-z][a-z-]*$/.test(word) ? `${command.name()} has no ${word}` : undefined;
    else if (
      /^--[a-z]/.test(word) &&
      word !== "--help" &&
      !command.options.some(({ long }) => long === word.replace(/[^a-z-].*/, ""))
    )
      return `${command.name()} has no ${word}`;
  }
  return undefined;
}

for (const { path, text } of documents) {
  const calls = [...text.matchAll(called)].map(([, call]) => call!);
  const scripts = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script!);
  if (calls.length + scripts.length === 0) continue;
  test(`${path} calls only commands and options that there are`, () => {
    const wrong = calls.flatMap((call) => problemOf(call) ?? []);
    const missing = scripts.filter((script) => !(script in manifest.scripts));
    assert.deepEqual([...wrong, ...missing], [], "correct the call, or the sentence");
  });
}

/** The commands of the help that do something, with the words that call them. Earlier words are hidden, and have the help of the new ones. */
function leavesOf(command: Command, words: readonly string[] = []): { command: Command; words: readonly string[] }[] {
  if (command.commands.length === 0) return [{ command, words }];
  const shown = new Help().visibleCommands(command).filter((child) => command.commands.includes(child));
  return shown.flatMap((child) => leavesOf(child, [...words, child.name()]));
}

test("every command's --help ends with examples, and their options exist", () => {
  for (const { command, words } of leavesOf(tool)) {
    let help = "";
    command.configureOutput({ writeOut: (written) => (help += written) }).outputHelp();
    const [, examples = ""] = help.split(/^Examples?:$/m);
    const calls = [...examples.matchAll(/^ {2}(?:\w+=\S+ )?deedhouse ((?:[^\n\\]|\\\n)*)/gm)].map(([, call]) => call!);
    assert.ok(calls.length > 0, `${words.join(" ")} has no example`);
    for (const call of calls) {
      assert.ok(call.startsWith(words.join(" ")), `${words.join(" ")} has an example of something else: ${call}`);
      assert.equal(problemOf(call), undefined, call);
    }
  }
});
