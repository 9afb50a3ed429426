// Builds the documentation that the api serves under /docs. `npm ci` runs it, so that the first start has the documentation.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../site", import.meta.url));
const isOptional = process.argv.includes("--optional");

for (const args of [
  ["ci", "--include=dev", "--no-audit", "--no-fund"],
  ["run", "build"],
]) {
  const { status, error } = spawnSync("npm", args, { cwd: folder, stdio: isOptional ? "ignore" : "inherit" });
  if (status === 0) continue;
  console.error(`The documentation was not built${error ? `: ${error.message}` : ""}. Build it with: npm run docs`);
  // Everything else works without it.
  process.exit(isOptional ? 0 : 1);
}
