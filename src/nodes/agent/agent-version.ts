import { readFileSync } from "node:fs";

const packageFile = new URL("../../../package.json", import.meta.url);

/** The version that an agent reports to its gateway. */
export const agentVersion = (JSON.parse(readFileSync(packageFile, "utf8")) as { version: string }).version;
