import { execFile } from "node:child_process";
import { glob, readFile } from "node:fs/promises";
import { promisify } from "node:util";

const folders = ["bin", "src", "client", "mcp", "sandbox", "db", "docs", "test", "bench", "ops", ".ci"];
const textFiles = /\.(ts|mjs|md|sql|json|sh|txt|toml|ya?ml)$|^\.ci\/run$/;
/** Data that others wrote, and what is built. */
const foreign = /(^|\/)node_modules\/|^client\/dist\/|common-passwords\.txt$|^test\/package\/schemas\/.*\.(json|txt)$/;
const outputBytesMax = 64 * 1024 * 1024;

export interface SourceFile {
  /** From the repository's root, with "/". */
  path: string;
  text: string;
  lines: string[];
}

/** Every text file that we wrote. Expects to run in the repository's root, as `npm test` does. */
export async function ourFiles(): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const path of glob(["*.md", ...folders.map((folder) => `${folder}/**/*`)])) {
    if (!textFiles.test(path) || foreign.test(path)) continue;
    const text = await readFile(path, "utf8");
    files.push({ path, text, lines: text.split("\n") });
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Printed by a foreign program, and compared by a test: nobody reads it from top to bottom. */
export const isPrinted = (path: string): boolean => path === "client/sdk/openapi-types.ts";
export const isCode = (path: string): boolean => /\.(ts|mjs)$/.test(path);
/** Tests, and what only tests load: `test/`, `testing/`, and files beside the code named test-*. */
export const isTestCode = (path: string): boolean => /\.test\.ts$|(^|\/)(test|testing)\/|\/test-[^/]*$/.test(path);

export interface Finding {
  path: string;
  rule: string;
  firstLine: number;
  lastLine: number;
}

interface LintReport {
  diagnostics: { category: string; location: { path: string; start: { line: number }; end: { line: number } } }[];
}

/** What Biome's parser finds by biome-rules.json: for rules that a look at single lines cannot check. */
export async function lintFindings(): Promise<Finding[]> {
  const biome = "node_modules/@biomejs/biome/bin/biome";
  const options = ["--config-path=test/house-style/biome-rules.json", "--reporter=json", "--max-diagnostics=none"];
  const paths = (await ourFiles()).map(({ path }) => path).filter(isCode);
  const { stdout } = await promisify(execFile)(process.execPath, [biome, "lint", ...options, ...paths], {
    maxBuffer: outputBytesMax,
  }).catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout) as LintReport;
  return report.diagnostics.map(({ category, location }) => ({
    path: location.path,
    rule: category.slice(category.lastIndexOf("/") + 1),
    firstLine: location.start.line,
    lastLine: location.end.line,
  }));
}
