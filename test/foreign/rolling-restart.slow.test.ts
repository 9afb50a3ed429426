/**
 * Two apis behind a load balancer, as the operator's page sets them up, and two workers: each is restarted while the others serve,
 * as soon as the one before is ready.
 */
import assert from "node:assert/strict";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startApiProcess } from "../harness/api-process.ts";
import { freePorts } from "../harness/free-ports.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { pageExamples, proxyFolder, runHaproxy, runNginx, whyNot } from "../harness/proxy-programs.ts";
import { eventually, runTool } from "../harness/running-system.ts";
import { authorize } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { startWithWorkers, type Workers } from "../orders/worker-process.ts";

/** Between two restarts, and at both ends. The long form, by hand, has 10,000: DEEDHOUSE_TEST_REQUESTS=10000. */
const requestsBetween = Number(process.env.DEEDHOUSE_TEST_REQUESTS ?? 300);
/** How long as many take on a busy machine, for `eventually`. */
const requestsAtOnce = 1_000;
const namesCount = 2_000;

interface Restartable {
  name: string;
  runtimeDir: string;
  /** SIGTERM, then its next process. */
  restart(): Promise<void>;
}

async function waitUntilReady({ name, runtimeDir }: Restartable): Promise<void> {
  const { code, stderr } = await runTool(["ready", runtimeDir, "--wait", "60"]);
  assert.equal(code, 0, `${name}: ${stderr}`);
}

/** @returns them and their addresses */
async function startTwoApis(t: TestContext, gateway: TestGateway, folder: string) {
  const apis: Restartable[] = [];
  const places: string[] = [];
  for (const port of await freePorts(2)) {
    const runtimeDir = join(folder, `api-${port}`);
    await mkdir(runtimeDir);
    const settings = {
      DEEDHOUSE_API_PORT: String(port),
      DEEDHOUSE_NONCES: "database",
      DEEDHOUSE_DRAIN_MS: "5000",
      DEEDHOUSE_RUNTIME_DIR: runtimeDir,
      DEEDHOUSE_TRUSTED_PROXIES: "127.0.0.1",
      DEEDHOUSE_FORWARDED_HEADER: "X-Forwarded-For",
    };
    const api = await startApiProcess(t, gateway, gateway.databaseUrl, settings);
    const restart = async () => {
      assert.equal(await api.stop(), 0);
      await api.start();
    };
    apis.push({ name: api.url, runtimeDir, restart });
    places.push(new URL(api.url).host);
  }
  return { apis, places };
}

async function startTwoWorkers(workers: Workers, folder: string): Promise<Restartable[]> {
  const started: Restartable[] = [];
  for (const name of ["worker-1", "worker-2"]) {
    const runtimeDir = join(folder, name);
    await mkdir(runtimeDir);
    const start = () => workers.start({ environment: { DEEDHOUSE_RUNTIME_DIR: runtimeDir } });
    let worker = await start();
    const restart = async () => {
      await worker.stop();
      worker = await start();
    };
    started.push({ name, runtimeDir, restart });
  }
  return started;
}

interface Call {
  method: string;
  target: string;
  body?: object;
  headers?: Record<string, string>;
}

interface Clients {
  /** By kind of call. */
  served: Record<string, number>;
  /** What those got that were not served, or not to the end. */
  lost: string[];
  stop(): Promise<void>;
}

/** @param waiter has no events, so that its questions about them are held */
function startClients(gateway: TestGateway, reseller: TestReseller, waiter: TestReseller, url: string): Clients {
  const { clock } = gateway.context;
  const over = new AbortController();
  const lost: string[] = [];
  const served: Record<string, number> = {};
  // Not by sendSigned, which refuses the headers that nginx adds.
  const send = async ({ key }: TestReseller, { method, target, body: content, headers: own }: Call) => {
    const body = content && JSON.stringify(content);
    const headers = { ...own, authorization: authorize({ key, clock, method, target, body }) };
    const answer = await fetch(url + target, {
      method,
      headers,
      signal: over.signal,
      ...(body !== undefined && { body }),
    });
    // An answer that is cut is an error here.
    return { status: answer.status, text: await answer.text() };
  };
  const work = async (kind: string, who: TestReseller, callOf: (turn: number) => Call) => {
    served[kind] = 0;
    for (let turn = 0; !over.signal.aborted; turn++) {
      const call = callOf(turn);
      const how = await send(who, call).then(
        ({ status, text }) => (status < 300 ? "served" : `${status} ${text}`),
        (error: Error) => String(error.cause ?? error),
      );
      if (over.signal.aborted) return;
      if (how === "served") served[kind]! += 1;
      else lost.push(`${kind}: ${how}`);
    }
  };
  const read = (): Call => ({ method: "GET", target: "/domains?take=1" });
  const held = (): Call => ({ method: "GET", target: "/events", headers: { prefer: "wait=5" } });
  const list = (): Call => ({ method: "GET", target: "/domains", headers: { accept: "text/csv" } });
  const stream = (): Call => ({ method: "GET", target: "/events", headers: { accept: "text/event-stream" } });
  const put = (turn: number): Call => ({
    method: "PUT",
    target: "/domains/rolling-1.example/renew",
    body: { will_renew: turn % 2 === 0 },
  });
  const register = (turn: number): Call => ({
    method: "POST",
    target: "/domains/registrations",
    body: { domain_name: `new-${turn}.example` },
  });
  const working = Promise.all([
    ...[1, 2, 3, 4].map((number) => work(`reads ${number}`, reseller, read)),
    work("writes", reseller, put),
    work("registrations", reseller, register),
    work("held answers", waiter, held),
    work("lists", reseller, list),
    work("streams", reseller, stream),
  ]);
  return {
    served,
    lost,
    async stop() {
      over.abort();
      await working;
    },
  };
}

const sum = (served: Record<string, number>) => Object.values(served).reduce((total, count) => total + count, 0);

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
  test(`no request is lost while apis behind ${name} and workers are restarted one after the other`, {
    skip: whyNot(name, "-v"),
  }, async (t) => {
    const workers = await startWithWorkers(t);
    const { gateway } = workers;
    const folder = await proxyFolder();
    t.after(() => rm(folder, { recursive: true }));
    const { apis, places } = await startTwoApis(t, gateway, folder);
    const restartedWorkers = await startTwoWorkers(workers, folder);
    const reseller = await gateway.addReseller({ rateLimit: 1_000_000 });
    await runSql(
      gateway.databaseUrl,
      `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status, statuses)
       SELECT 'rolling-' || n || '.example', ${reseller.id}, 'sandbox', '2026-01-01', '2099-01-01', '2099-01-01', true, 'ok', '{ok}'
         FROM generate_series(1, ${namesCount}) AS n`,
    );
    const [port = 0] = await freePorts(1);
    await programs[name](t, port, places);
    const url = `http://127.0.0.1:${port}`;
    await eventually(`${name} serves`, () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    const clients = startClients(gateway, reseller, await gateway.addReseller({ rateLimit: 1_000_000 }), url);
    t.after(() => clients.stop());
    const someMore = async () => {
      const enough = sum(clients.served) + requestsBetween;
      while (sum(clients.served) <= enough) {
        const before = sum(clients.served);
        const step = Math.min(requestsAtOnce, enough - before);
        await eventually("more requests are served", () => sum(clients.served) > before + step);
      }
    };
    await someMore();
    const restartAll = async (processes: Restartable[]) => {
      for (const each of processes) {
        await each.restart();
        await waitUntilReady(each);
        await someMore();
      }
    };
    await restartAll(apis);
    await restartAll(restartedWorkers);
    await clients.stop();
    t.diagnostic(`${JSON.stringify(clients.served)}, ${clients.lost.length} lost`);
    assert.deepEqual(clients.lost, []);
    for (const [kind, count] of Object.entries(clients.served)) assert.ok(count > 0, `${kind}: none was served`);
  });
}
