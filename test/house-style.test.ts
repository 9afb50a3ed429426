/**
 * The rules of CONTRIBUTING.md that a machine can check. Every message says what to do instead. Rules about single lines
 * are data in line-rules.ts, rules about who may import whom in import-rules.ts.
 */
import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import { importRules } from "./house-style/import-rules.ts";
import { lineRules } from "./house-style/line-rules.ts";
import { longFunctions } from "./house-style/ratchet.ts";
import {
  type Finding,
  isCode,
  isPrinted,
  isTestCode,
  lintFindings,
  ourFiles,
  type SourceFile,
} from "./house-style/source.ts";

const fileLinesMax = 400;
const functionLinesMax = 70;
const undocumentedLinesMax = 25;
const folderFilesMax = 25;

const files = await ourFiles();
const byPath = new Map(files.map((file) => [file.path, file]));
const found = await lintFindings();

/** Fails with one line per breach: a message of node:assert about two lists says nothing about what to do. */
function assertNone(breaches: string[], instead: string): void {
  if (breaches.length > 0) assert.fail(`${instead}\n  ${breaches.join("\n  ")}`);
}

const isComment = (line: string) => /^\s*(\/\/|\/?\*|--)/.test(line);

for (const { rule, instead, pattern, example, appliesTo, inComments } of lineRules) {
  test(rule, () => {
    assert.match(example, pattern);
    const breaches = files
      .filter(({ path }) => appliesTo(path))
      .flatMap(({ path, lines }) =>
        lines.flatMap((line, index) => {
          const isBreach = pattern.test(line) && (inComments || !isComment(line));
          return isBreach ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [];
        }),
      );
    assertNone(breaches, instead);
  });
}

test(`a file has at most ${fileLinesMax} lines`, () => {
  const breaches = files
    .filter(({ path }) => isCode(path) && !isPrinted(path))
    .filter(({ lines }) => lines.length - 1 > fileLinesMax)
    .map(({ path, lines }) => `${path}: ${lines.length - 1} lines`);
  assertNone(breaches, "move one of the file's ideas into a file that is named after it");
});

test(`a function has at most ${functionLinesMax} lines`, () => {
  const long = found
    .filter(({ rule }) => rule === "noExcessiveLinesPerFunction")
    .map((finding) => ({ ...finding, own: ownLines(finding), name: nameOf(finding) }))
    .filter(({ path, firstLine, lastLine, own }) => {
      // The callbacks of describe() hold tests as a file does: there only a test's own lines count.
      return (isTestCode(path) ? own : lastLine - firstLine + 1) > functionLinesMax;
    });
  const grown = long
    .map(({ name, firstLine, lastLine }) => ({ name, lines: lastLine - firstLine + 1 }))
    .filter(({ name, lines }) => lines > (longFunctions[name] ?? 0))
    .map(({ name, lines }) => `${name}: ${lines} lines, allowed ${longFunctions[name] ?? functionLinesMax}`);
  assertNone(grown, "give a part of it a name of its own; test/house-style/ratchet.ts is for what cannot be divided");
  const shrunk = Object.entries(longFunctions).flatMap(([name, allowed]) => {
    const now = long.find((finding) => finding.name === name);
    const lines = now ? now.lastLine - now.firstLine + 1 : 0;
    return lines < allowed ? [`${name}: ${now ? `${lines} lines now` : "short enough now"}`] : [];
  });
  assertNone(shrunk, "well done: lower the number in test/house-style/ratchet.ts, or remove it");
});

/** A function's lines without those of the functions in it. */
function ownLines({ path, firstLine, lastLine }: Finding): number {
  const inner = new Set<number>();
  for (const other of found) {
    const isInside = other.path === path && other.firstLine > firstLine && other.lastLine < lastLine;
    if (isInside) for (let line = other.firstLine; line <= other.lastLine; line++) inner.add(line);
  }
  return lastLine - firstLine + 1 - inner.size;
}

/** "src/api/edge.ts createEdge": stays the same when lines move. */
function nameOf({ path, firstLine }: Finding): string {
  const line = byPath.get(path)?.lines[firstLine - 1] ?? "";
  const name = /\bfunction\*? (\w+)/.exec(line)?.[1] ?? /(\w+)(\(| [=:])/.exec(line)?.[1];
  return `${path} ${name ?? line.trim()}`;
}

test(`an exported function of more than ${undocumentedLinesMax} lines says what it promises`, () => {
  const breaches = found
    .filter(({ rule, path }) => rule === "noExcessiveLinesPerFunction" && path.startsWith("src/") && !isTestCode(path))
    // Commands describe themselves, to their user.
    .filter(({ path }) => !path.startsWith("src/operator/"))
    .filter(({ firstLine, lastLine }) => lastLine - firstLine + 1 > undocumentedLinesMax)
    .filter(({ path, firstLine }) => {
      const lines = byPath.get(path)!.lines;
      return lines[firstLine - 1]!.startsWith("export ") && !lines[firstLine - 2]?.endsWith("*/");
    })
    .map(nameOf);
  assertNone(breaches, "write a /** comment */ above it: shapes, units, errors, source");
});

const lintAdvice: Record<string, string> = {
  noBarrelFile: "import from the file that declares it: a barrel hides where things are",
  noDefaultExport: "export it by name, so that it has one name everywhere",
  noEnum: 'use a union of literals ("open" | "closed"): Node strips types and cannot run an enum',
  noNamespace: "a file is the namespace; Node strips types and cannot run this one",
  noExplicitAny: "say what it is, or unknown and parse it",
  noFocusedTests: "remove the .only: the other tests of the file would not run",
};

for (const [lintRule, instead] of Object.entries(lintAdvice)) {
  test(`the linter's ${lintRule} holds everywhere`, () => {
    const breaches = found.filter(({ rule }) => rule === lintRule);
    assertNone(
      breaches.map(({ path, firstLine }) => `${path}:${firstLine}`),
      instead,
    );
  });
}

test("files and folders of code are named in kebab-case, after what is in them", () => {
  const named = files.map(({ path }) => path).filter((path) => isCode(path) || path.endsWith(".sql"));
  const notKebab = named.filter((path) => !/^(\.?[a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*(\.\w+)+$/.test(path));
  assertNone(notKebab, "write lower-case-words-with-hyphens");
  const drawers = named.filter((path) =>
    /(^|[/-])(utils?|helpers?|misc|common|shared|stuff|tools?|index)(\.|\/|-?\w*\.test)/.test(path),
  );
  assertNone(drawers, "name it after what it holds: a drawer collects everything");
});

test("imports go only in the directions of the map", () => {
  const breaches = files.filter(({ path }) => isCode(path)).flatMap(forbiddenImports);
  assertNone(breaches, "move the shared part to where both may reach it, or pass it in as an argument");
});

function forbiddenImports(file: SourceFile): string[] {
  const rule = importRules.find(({ from }) => file.path.startsWith(from));
  if (!rule) return file.path.startsWith("src/") ? [`${file.path}: no rule says what it may import`] : [];
  const allowed = isTestCode(file.path)
    ? [...rule.allowed, ...rule.allowedInTests, "test/harness/", rule.from]
    : [...rule.allowed, rule.from];
  return importsOf(file)
    .filter((target) => !allowed.some((beginning) => target.startsWith(beginning)))
    .map((target) => `${file.path} imports ${target}: ${rule.why}`);
}

/** How a file names our own files that it imports. */
function specifiersOf({ text }: SourceFile): string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport\(|\bimport)\s*"((?:#|\.\.?\/)[^"]+)"/g)].map(
    ([, specifier]) => specifier!,
  );
}

function resolveSpecifier(specifier: string, { path }: SourceFile): string {
  return specifier.startsWith("#") ? `src/${specifier.slice(1)}` : posix.join(posix.dirname(path), specifier);
}

/** Our own files that a file imports, as paths from the root. */
const importsOf = (file: SourceFile): string[] =>
  specifiersOf(file).map((specifier) => resolveSpecifier(specifier, file));

test("what lies in src is imported by its path from there", () => {
  const breaches = files
    .filter(({ path }) => isCode(path) && /^(src|test|bench)\//.test(path))
    .flatMap((file) =>
      specifiersOf(file)
        .filter((specifier) => specifier.startsWith(".") && resolveSpecifier(specifier, file).startsWith("src/"))
        .map((specifier) => `${file.path} imports "${specifier}"`),
    );
  assertNone(breaches, 'write "#folder/file.ts": one file, one name, which a search finds and a move changes once');
});

const sources = files.filter(({ path }) => path.startsWith("src/") && isCode(path) && !isTestCode(path));
/** "api" of "src/api/signing/signer.ts"; nothing for the files that lie in src/ itself. */
const folderOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

test("no listener and no timer returns a promise, whose error would end the process", () => {
  const calls = /\.(?:on|onReconnect|addEventListener)\(|\.once\("|\bset(?:Timeout|Interval|Immediate)\(/;
  const breaches = sources.flatMap(({ path, text, lines }) => {
    const declared = [...text.matchAll(/\basync (?:function )?(#?\w+)\(|\b(\w+) = async\b/g)];
    const names = declared.map(([, called, named]) => called ?? named).join("|");
    const returned = new RegExp(`(?:=> |, )(?:this\\.)?(?:${names})(?:\\([^()]*\\))?(?:, \\w+)?\\)+[,;]?$`);
    return lines.flatMap((line, index) =>
      names !== "" && calls.test(line) && returned.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
    );
  });
  assertNone(breaches, "give it a body that says in .catch(...) what happens to the error");
});

test("no two folders of src import each other, not by way of others either", () => {
  const edges = sources.flatMap((file) =>
    importsOf(file).flatMap((target) => {
      const [from, to] = [folderOf(file.path), folderOf(target)];
      return from && to && to !== from ? { from, to, line: `${file.path} imports ${target}` } : [];
    }),
  );
  const imports = Map.groupBy(edges, ({ from }) => from);
  const reachedFrom = (start: string, seen = new Set<string>()): Set<string> => {
    for (const { to } of imports.get(start) ?? []) if (!seen.has(to)) reachedFrom(to, seen.add(to));
    return seen;
  };
  const breaches = edges
    .filter(({ from, to }) => reachedFrom(to).has(from))
    .map(({ from, to, line }) => `${from} and ${to}: ${line}`);
  assertNone(breaches.sort(), "move what both need to where both may reach it: of two folders one knows the other");
});

test(`a folder of src has at most ${folderFilesMax} files of code`, () => {
  const breaches = [...Map.groupBy(sources, ({ path }) => posix.dirname(path))]
    .filter(([, inFolder]) => inFolder.length > folderFilesMax)
    .map(([path, { length }]) => `${path}: ${length}`);
  assertNone(breaches, "move those that belong together into a folder that is named after what they have in common");
});

test("what only tests import is called test-<what>.ts", () => {
  const imports = files
    .filter(({ path }) => isCode(path))
    .flatMap((file) => importsOf(file).map((target) => ({ path: file.path, target })));
  const importers = Map.groupBy(imports, ({ target }) => target);
  const isForTests = ({ path }: { path: string }) => isTestCode(path) || path.startsWith("bench/");
  const breaches = sources
    .map(({ path }) => path)
    .filter((path) => importers.get(path)?.every(isForTests) || /-(test|fixture|suite)[-.][^/]*$/.test(path));
  assertNone(breaches, "rename it, so that a look at the name says that it is not part of the program");
});

test("the client's library needs nothing but Node", () => {
  const breaches = files
    .filter(({ path }) => path.startsWith("client/sdk/") && !isTestCode(path))
    .flatMap(({ path, text }) => [...text.matchAll(/\bfrom "([^."][^"]*)"/g)].map(([, target]) => [path, target!]))
    .filter(([, target]) => !target!.startsWith("node:"))
    .map(([path, target]) => `${path} imports ${target}`);
  assertNone(breaches, "write it by hand: a dependency of the library is a dependency of every customer");
});
