/** Two apis behind a load balancer, as the operator's page sets them up: one is restarted while the other serves. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { pageExamples, proxyFolder, runHaproxy, runNginx, whyNot } from "../harness/proxy-programs.ts";
import { eventually } from "../harness/running-system.ts";
import { authorize } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const clientsCount = 8;
/** Between two restarts, and at both ends. */
const requestsBetween = 400;

const isReady = (url: string) =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );

async function startTwoApis(t: TestContext, gateway: TestGateway): Promise<ApiProcess[]> {
  const apis: ApiProcess[] = [];
  for (const port of await freePorts(2)) {
    // Otherwise the second one would wait for its window, because it cannot know what was used before.
    await runSql(gateway.databaseUrl, "DELETE FROM replay_journals");
    const settings = { DEEDHOUSE_API_PORT: String(port), DEEDHOUSE_DRAIN_MS: "3000" };
    apis.push(await startApiProcess(t, gateway, gateway.databaseUrl, settings));
  }
  return apis;
}

/** Reads and writes by turns, until stopped. `lost` is what those got that were not served. */
function startClients(gateway: TestGateway, { key }: TestReseller, url: string) {
  const lost: string[] = [];
  let served = 0;
  let isOver = false;
  const { clock } = gateway.context;
  const write = { method: "PUT", target: "/domains/rolling.example/renew", body: JSON.stringify({ will_renew: true }) };
  const read = { method: "GET", target: "/domains?take=1" };
  // Not by sendSigned, which refuses the headers that nginx adds.
  const send = async ({ method, target, body }: { method: string; target: string; body?: string }) => {
    const authorization = authorize({ key, clock, method, target, body });
    const headers = { authorization };
    const answer = await fetch(url + target, { method, headers, ...(body !== undefined && { body }) });
    await answer.arrayBuffer();
    return answer;
  };
  const work = async () => {
    for (let turn = 0; !isOver; turn++) {
      const call = turn % 2 === 0 ? read : write;
      const how = await send(call).then(
        ({ status }) => String(status),
        (error: Error) => String(error.cause ?? error),
      );
      if (how.startsWith("20")) served++;
      else lost.push(`${call.method}: ${how}`);
    }
  };
  const working = Promise.all(Array.from({ length: clientsCount }, work));
  return {
    served: () => served,
    lost,
    async stop() {
      isOver = true;
      await working;
    },
  };
}

const programs = {
  async haproxy(t: TestContext, port: number, [first, second]: string[]) {
    const backend = (await pageExamples("haproxy")).find((text) => text.includes("api-2"))!;
    const here = backend.replace("127.0.0.1:7400", first!).replace("127.0.0.1:7410", second!);
    const front = `frontend resellers\n  mode http\n  bind 127.0.0.1:${port}\n  timeout client 75s\n  default_backend deedhouse\n`;
    await runHaproxy(t, await proxyFolder(), `${front}${here}`);
  },
  async nginx(t: TestContext, port: number, [first, second]: string[]) {
    const examples = await pageExamples("nginx");
    const upstream = examples.find((text) => text.includes("7410"))!;
    const here = upstream.replace("127.0.0.1:7400", first!).replace("127.0.0.1:7410", second!);
    const server = examples[0]!
      .slice(examples[0]!.indexOf("server {\n  listen"))
      .replace("listen 443 ssl", `listen 127.0.0.1:${port}`)
      .replaceAll(/ssl_certificate.*;/g, "");
    await runNginx(t, await proxyFolder(), `${here}${server}`);
  },
};

for (const name of ["haproxy", "nginx"] as const) {
  test(`no request is lost while two apis behind ${name} are restarted one after the other`, {
    skip: whyNot(name, "-v"),
  }, async (t) => {
    const gateway = await startTestGateway(t, { worker: false });
    const apis = await startTwoApis(t, gateway);
    const reseller = await gateway.addReseller({ rateLimit: 1_000_000 });
    await runSql(
      gateway.databaseUrl,
      `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status, statuses)
       VALUES ('rolling.example', ${reseller.id}, 'sandbox', '2026-01-01', '2099-01-01', '2099-01-01', true, 'ok', '{ok}')`,
    );
    const [port = 0] = await freePorts(1);
    await programs[name](
      t,
      port,
      apis.map(({ url }) => new URL(url).host),
    );
    const url = `http://127.0.0.1:${port}`;
    await eventually(`${name} serves`, () => isReady(url));
    const clients = startClients(gateway, reseller, url);
    t.after(() => clients.stop());
    const someMore = async () => {
      const before = clients.served();
      await eventually("more requests are served", () => clients.served() > before + requestsBetween).catch((error) => {
        throw new Error(`${error.message}; lost: ${clients.lost.slice(0, 3)}`);
      });
    };
    await someMore();
    for (const api of apis) {
      assert.equal(await api.stop(), 0);
      await api.start();
      await eventually("it is ready", () => isReady(api.url));
      await someMore();
    }
    await clients.stop();
    t.diagnostic(`${clients.served()} served, ${clients.lost.length} lost`);
    assert.deepEqual(clients.lost, []);
  });
}
