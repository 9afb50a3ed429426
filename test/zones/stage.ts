/** A gateway that serves zones, with names whose registry shows what a test says. */
import assert from "node:assert/strict";
import type { Scope } from "../harness/database.ts";
import { type GatewayOptions, startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import type { Reply, SignedRequestOptions } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

export const nameServers = ["ns1.dns.test", "ns2.dns.test"];
export const ourServers = nameServers.map((name) => ({ name }));
export const zoneSettings = { nameServers, hostmaster: "hostmaster.dns.test", host: "127.0.0.1", port: 1 };

export interface ZoneStage {
  gateway: TestGateway;
  reseller: TestReseller;
  /** Sends a request about a name; `path` is below the domain. */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: SignedRequestOptions & { of?: TestReseller },
  ): Promise<Reply>;
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** The rows of all zones of a name, the oldest first. */
  rows(name?: string): Promise<Record<string, unknown>[]>;
  /** Puts a name into a portfolio. */
  enter(name: string, of?: TestReseller, delegation?: { name: string }[]): Promise<void>;
  /** A name leaves its portfolio as the registry says. */
  leave(name: string, reason: string, restorableUntil?: Date): Promise<void>;
}

export const zoneName = "hello.example";

/** @param options without a worker by default: what is written stays to be published */
export async function startZoneStage(scope: Scope, options: GatewayOptions = {}): Promise<ZoneStage> {
  const { context, ...others } = options;
  const gateway = await startTestGateway(scope, {
    worker: false,
    ...others,
    context: { zones: zoneSettings, ...context },
  });
  const reseller = await gateway.addReseller();
  const sql = (text: string, values: unknown[] = []) => runSql(gateway.databaseUrl, text, values);
  return {
    gateway,
    reseller,
    call: (method, path, body, { of = reseller, ...more } = {}) =>
      gateway.send(of, method, path.startsWith("/") ? path : `/domains/${zoneName}/${path}`, {
        ...(body !== undefined && { body }),
        ...more,
      }),
    sql: sql as ZoneStage["sql"],
    rows: (name = zoneName) =>
      sql("SELECT * FROM zones WHERE domain_name = $1 ORDER BY id", [name]) as Promise<Record<string, unknown>[]>,
    enter: (name, of = reseller, delegation = []) => insertDomains(gateway.databaseUrl, of, [{ name, delegation }]),
    async leave(name, reason, restorableUntil) {
      await sql(
        `WITH gone AS (DELETE FROM domains WHERE domain_name = $1 RETURNING *)
         INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
           ended_at, reason, restorable_until)
         SELECT domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date, now(), $2, $3 FROM gone`,
        [name, reason, restorableUntil ?? null],
      );
    },
  };
}

export function assertStatus(reply: Reply, status: number): Reply {
  assert.equal(reply.status, status, `${reply.status} ${reply.text}`);
  return reply;
}

export function assertCode(reply: Reply, status: number, code: string): void {
  assertStatus(reply, status);
  assert.equal((reply.body as { error_code: string }).error_code, code, reply.text);
}

export const recordsIn = (reply: Reply) =>
  (reply.body as { subname: string; type: string; ttl: number; records: string[] }[]).map(
    ({ subname, type, ttl, records }) => `${subname} ${ttl} ${type} ${records.join(" | ")}`,
  );
