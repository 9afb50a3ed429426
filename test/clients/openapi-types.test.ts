/** The types of the library for TypeScript are those of openapi.json. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { apiDocument } from "#api/open-routes.ts";

const path = "client/sdk/openapi-types.ts";
/** Its programs come with npm ci --prefix tools/openapi. */
const skip = !existsSync("tools/openapi/node_modules/openapi-typescript") && "tools/openapi is not installed";

function run(args: string[], input: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { input, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("client/sdk/openapi-types.ts is what openapi.json says now", { skip }, () => {
  const printed = run(["tools/openapi/print-types.ts"], JSON.stringify(apiDocument()));
  const formatted = run(["node_modules/@biomejs/biome/bin/biome", "format", `--stdin-file-path=${path}`], printed);
  if (process.env.UPDATE_GOLDEN) writeFileSync(path, formatted);
  assert.equal(
    readFileSync(path, "utf8"),
    formatted,
    "run UPDATE_GOLDEN=1 npm test -- test/clients/openapi-types.test.ts and look at what changed",
  );
});
