import { glob, readFile } from "node:fs/promises";

/** The files that declare statements; loading one registers them. */
export async function declaringFiles(): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of glob("src/**/*.ts", { exclude: ["**/*.test.ts"] })) {
    if (/\b(statement|deleteInParts|pagedList|newestFirst)\(/.test(await readFile(path, "utf8"))) paths.push(path);
  }
  return paths.sort();
}
