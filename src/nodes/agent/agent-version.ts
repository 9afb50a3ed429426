import { readFileSync } from "node:fs";

const packageFile = new URL("../../../package.json", import.meta.url);

/** What an agent tells its gateway of itself. */
export const agentVersion = (JSON.parse(readFileSync(packageFile, "utf8")) as { version: string }).version;
