/** The commands and the configuration of docs/mcp.md, as they are printed there. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repository, runTool } from "../test/harness/running-system.ts";
import { operated } from "../test/orders/operate.ts";
import manifest from "./package.json" with { type: "json" };
import { whyNotInstalled as skip } from "./test-installed.ts";
import { startService } from "./test-service.ts";

const page = readFileSync(join(repository, "docs/mcp.md"), "utf8");
const commands = [...page.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block]) => block!.trim().split("\n"));
const configuration = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!);
const sessions = skip ? undefined : await import("./test-session.ts");

/** The one command that begins like this, as words for the tool. */
function wordsOf(beginning: string, replaced: Record<string, string> = {}): string[] {
  const found = commands.filter((command) => command.includes(beginning));
  assert.equal(found.length, 1, beginning);
  const words = found[0]!.replace(/^(npx )?deedhouse /, "").split(" ");
  return words.map((word) => replaced[word] ?? word);
}

test("the page's commands make a key and a profile, and its configuration starts a server with them", {
  skip,
}, async () => {
  const { gateway, environmentOf, register } = await startService();
  const reseller = await gateway.addReseller();
  await register(reseller, "mine.example");
  const { folder, env } = environmentOf(reseller);
  const { PATH, DEEDHOUSE_PROFILES } = env;
  const run = async (words: string[], input?: string) => {
    const { code, stderr } = await runTool(words, { env: { PATH, DEEDHOUSE_PROFILES }, ...(input && { input }) });
    assert.equal(code, 0, stderr);
  };
  const words = wordsOf("key create", { acme: reseller.name });
  const { api_key: key, api_secret: secret } = await operated<Record<string, string>>(gateway, ...words);
  const to = { "https://api.example.com/v1": `${gateway.url}/v1`, "0a1b2c3d4e5f60718293a4b5c6d7e8f9": key! };
  await run(wordsOf("profile add", to), secret);
  await run(wordsOf("doctor"));

  const { command, args } = configuration.mcpServers.deedhouse;
  const here = (path: string) => path.replace("/srv/deedhouse", repository.replace(/\/$/, ""));
  await using session = await sessions!.connect({
    command: here(command),
    args: args.map(here),
    env: { PATH, DEEDHOUSE_PROFILES },
    cwd: folder,
  });
  const { answer } = await session.call("listDomains");
  assert.equal(answer.data[0].domain_name, "mine.example");
  const forbidden = await session.call("readContacts", { domain_name: "mine.example" });
  assert.equal(forbidden.answer.error_code, "authorization_scope_missing");
});

test("the page installs the packages where the server looks for them", () => {
  assert.deepEqual(commands.slice(0, 1), ["npm ci && npm ci --prefix mcp"]);
  assert.deepEqual(Object.keys(manifest.dependencies), ["@modelcontextprotocol/sdk"]);
});
