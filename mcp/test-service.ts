/** A gateway with a sandbox registry, and what tests of the server need of it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { startTestGateway, type TestReseller } from "../test/harness/gateway.ts";
import { readOperations } from "./document.ts";

export async function startService() {
  const gateway = await startTestGateway({ after });
  return {
    gateway,
    operations: readOperations(await (await fetch(`${gateway.url}/openapi.json`)).json()),

    /** The settings of a reseller's process, with an empty folder for its profiles. */
    environmentOf({ key }: TestReseller, url = gateway.url) {
      const folder = mkdtempSync(join(tmpdir(), "deedhouse-mcp-"));
      after(() => rmSync(folder, { recursive: true, force: true }));
      const env = {
        PATH: process.env.PATH!,
        DEEDHOUSE_PROFILES: join(folder, "profiles.json"),
        DEEDHOUSE_URL: url,
        DEEDHOUSE_API_KEY: key.id,
        DEEDHOUSE_API_SECRET: key.secret.reveal(),
      };
      return { folder, env };
    },

    async ordersOf(reseller: TestReseller): Promise<{ kind: string; order_code: string }[]> {
      const { body } = await gateway.send(reseller, "GET", "/orders?take=100");
      return body as { kind: string; order_code: string }[];
    },

    async register(reseller: TestReseller, ...names: string[]): Promise<void> {
      for (const domain_name of names) {
        const { headers } = await gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name } });
        await gateway.settled(reseller, String(headers.location));
      }
    },
  };
}
