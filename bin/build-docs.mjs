// Builds the documentation that the api serves under /docs. `npm ci` runs it, so that the first start has the documentation.
// The first `npx deedhouse` of a checkout links it, and npm prepares what it links: then package.json leaves the documentation alone.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../site", import.meta.url));
const isOptional = process.argv.includes("--optional");

try {
  // TypeScript, which only the project's Node runs; npm has put it before others.
  const { writePages } = await import("./docs/write-pages.ts");
  await writePages(`${folder}/pages`);
  npm("ci", "--include=dev", "--no-audit", "--no-fund");
  npm("run", "build");
} catch (error) {
  console.error(`The documentation was not built: ${error.message}. Build it with: npm run docs`);
  // Everything else works without it.
  process.exitCode = isOptional ? 0 : 1;
}

function npm(...args) {
  const { status, error } = spawnSync("npm", args, { cwd: folder, stdio: isOptional ? "ignore" : "inherit" });
  if (error) throw error;
  if (status !== 0) throw new Error(`npm ${args[0]} failed`);
}
