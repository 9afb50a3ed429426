import packageJson from "../../../package.json" with { type: "json" };

/** What an agent tells its gateway of itself. */
export const agentVersion = packageJson.version;
