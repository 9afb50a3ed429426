/** A hosting stage with its own name server, for the tests of host names. */
import assert from "node:assert/strict";
import type { Context } from "#context.ts";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import type { Scope } from "../harness/database.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { type NameServer, startNameServer } from "../harness/name-server.ts";
import { readPage } from "../harness/site.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { eventually, startHostingStage } from "./stage.ts";

export interface HostName {
  host_name: string;
  status: "Waiting" | "Proven";
  record: { name: string; type: string; value: string };
  proven_by?: string;
  reason?: string;
  checked_at?: string;
  next_check_at?: string;
}

export async function startHostNamesStage(scope: Scope, context: Partial<Context> = {}) {
  const names: NameServer = await startNameServer();
  const clock = createSteeredClock();
  const stage = await startHostingStage(scope, {
    clock,
    context: { names: createNameLookups([names.address]), ...context },
  });
  // Closed after the gateway, which sends queries until it ends.
  scope.after(() => names.close());
  const { gateway, reseller } = stage;
  const send = (method: string, identifier: string, hostName: string, as: TestReseller = reseller) =>
    gateway.send(as, method, `/hostingaccounts/${identifier}/hosts/${hostName}`);

  async function read(identifier: string, hostName: string, as?: TestReseller): Promise<HostName> {
    const reply = await send("GET", identifier, hostName, as);
    assert.equal(reply.status, 200, reply.text);
    return reply.body as HostName;
  }

  /** Adds it or checks it again. @returns the host name after that check */
  async function add(identifier: string, hostName: string, as?: TestReseller): Promise<HostName> {
    const before = (await send("GET", identifier, hostName, as)).body as Partial<HostName>;
    const reply = await send("PUT", identifier, hostName, as);
    assert.equal(reply.status, 202, reply.text);
    return looked(identifier, hostName, before.checked_at, as);
  }

  const looked = (identifier: string, hostName: string, before: string | undefined, as?: TestReseller) =>
    eventually("it is checked", async () => {
      const now = await read(identifier, hostName, as);
      return now.checked_at !== before && now;
    });

  return {
    ...stage,
    names,
    clock,
    send,
    read,
    add,
    looked,
    /** Creates an account and waits until it is ready. */
    async ready(identifier: string, as?: TestReseller): Promise<void> {
      await stage.create(identifier, as);
      assert.equal((await stage.settled(identifier, as)).status, "Ready");
    },
    /** Sets the records of some host names; several for one name add up. */
    prove(...hostNames: HostName[]): void {
      for (const { record } of hostNames) names.records.set(record.name, []);
      for (const { record } of hostNames) names.records.get(record.name)?.push(record.value);
    },
    /** Puts a name into a portfolio, as a finished registration does. */
    register: (domainName: string, as: TestReseller = reseller) => insertDomains(gateway.databaseUrl, as, [domainName]),
    /** Waits until a host name's page has this status; 200 is the page of a site. */
    answers: (hostName: string, status: number) =>
      eventually(`http://${hostName}/ answers ${status}`, async () => {
        const page = await readPage({ host: "127.0.0.1", port: stage.web.port }, hostName, "/");
        return page.status === status;
      }),
  };
}
