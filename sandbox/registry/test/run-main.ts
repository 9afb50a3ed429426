import { runSandboxRegistry } from "../main.ts";

await runSandboxRegistry(process.argv.slice(2));
