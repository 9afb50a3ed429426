import { existsSync } from "node:fs";

/** Why a test of the server cannot run here; its packages are not part of npm ci. */
export const whyNotInstalled =
  !existsSync(new URL("node_modules/@modelcontextprotocol/sdk", import.meta.url)) &&
  "the packages of mcp/ are not installed: npm ci --prefix mcp";
