/** What a victim does again and again, each time over a new connection from an address that no attacker has. */
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createInterface } from "node:readline";
import { sleep, systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import type { ReadyDocument } from "../harness/running-system.ts";
import { authorize, sendSigned } from "../harness/signed-request.ts";
import type { VictimKind } from "./attack.ts";

const localAddress = "127.0.0.99";
/** A victim that waits this long has not been served. */
const patienceMs = 30_000;
const pollMs = 10;
/** Made for the victim before the attack; see play.ts. */
export const site = { identifier: "victim.example", password: "three blind mice 7", page: "Still here\n" };

/** The host of the victim's receiver, and the names whose name servers are silent; see play.ts. */
export const victimHost = "victim.example";
export const silentNames = /silent/;
export const victimName = "victims.example";

/** @throws when it was not served as it is on an idle machine */
export const victims: Record<VictimKind, (ready: ReadyDocument) => Promise<void>> = {
  async "signed-read"(ready) {
    const key = { id: ready.api_key, secret: new Secret(ready.api_secret) };
    const target = "/domains?take=1";
    const authorization = authorize({ key, clock: systemClock, method: "GET", target });
    const { hostname, port } = new URL(ready.url);
    await read({ hostname, port, path: target, headers: { authorization } });
  },

  async "signed-write"(ready) {
    const key = { id: ready.api_key, secret: new Secret(ready.api_secret) };
    const target = `/domains/${victimName}/renew`;
    const body = { will_renew: true };
    const call = { url: ready.url, key, clock: systemClock, method: "PUT", target, body, localAddress };
    const { status, text } = await sendSigned(call);
    if (status !== 204) throw new Error(`answered ${status}: ${text}`);
  },

  async "site-read"({ web }) {
    const headers = { host: `${site.identifier}.localhost:${web.port}` };
    const text = await read({ hostname: web.host, port: String(web.port), path: "/", headers });
    if (text !== site.page) throw new Error(`the site says ${JSON.stringify(text)}`);
  },

  async "webhook-delivery"(ready) {
    receiving ??= makeReceiver(ready);
    const { path, server } = await receiving;
    const patience = new AbortController();
    // Unlike AbortSignal.timeout, it keeps the process running.
    const timer = setTimeout(() => patience.abort(), patienceMs);
    const arrived = once(server, "delivery", { signal: patience.signal }).finally(() => clearTimeout(timer));
    // The request may fail first.
    arrived.catch(() => {});
    const { status, text } = await send(ready, "POST", `${path}/test`);
    if (status !== 202) throw new Error(`answered ${status}: ${text}`);
    await arrived;
    // While it is not noted, the next test would be the same one.
    await shown(ready, path, ({ pending }) => pending === 0);
  },

  async "ftp-login"({ ftp }) {
    const socket = connect({ host: ftp.host, port: ftp.port, localAddress });
    socket.setTimeout(patienceMs, () => socket.destroy(new Error("no answer")));
    const commands = [`USER ${site.identifier}`, `PASS ${site.password}`, "QUIT"];
    const expected = ["220", "331", "230"];
    try {
      for await (const line of createInterface({ input: socket })) {
        if (!/^\d{3} /.test(line)) continue;
        const code = expected.shift();
        if (!line.startsWith(`${code} `)) throw new Error(`the FTP server says ${line}`);
        socket.write(`${commands.shift()}\r\n`);
        if (expected.length === 0) return;
      }
      throw new Error("the FTP server hung up");
    } finally {
      socket.destroy();
    }
  },
};

let receiving: Promise<{ path: string; server: Server }> | undefined;

/** A webhook of the victim that has answered its first test, whose server emits `delivery` for each. It ends with the process. */
async function makeReceiver(ready: ReadyDocument): Promise<{ path: string; server: Server }> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().once("end", () => outgoing.writeHead(204).end(() => server.emit("delivery")));
  }).unref();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://${victimHost}:${(server.address() as AddressInfo).port}/`;
  const { status, text, body } = await send(ready, "POST", "/webhooks", { url });
  if (status !== 201) throw new Error(`answered ${status}: ${text}`);
  const path = `/webhooks/${(body as { id: string }).id}`;
  const isReady = ({ verified, pending }: ShownWebhook) => verified && pending === 0;
  await shown(ready, path, isReady);
  return { path, server };
}

interface ShownWebhook {
  verified: boolean;
  pending: number;
}

/** Resolves when the victim's webhook is shown so. @throws when it is not within the victim's patience */
async function shown(ready: ReadyDocument, path: string, isSo: (webhook: ShownWebhook) => boolean): Promise<void> {
  const lastMs = systemClock.monotonicMs() + patienceMs;
  for (;;) {
    const { status, text, body } = await send(ready, "GET", path);
    if (status !== 200) throw new Error(`answered ${status}: ${text}`);
    if (isSo(body as ShownWebhook)) return;
    if (systemClock.monotonicMs() > lastMs) throw new Error(`the webhook stays ${text}`);
    await sleep(pollMs);
  }
}

function send(ready: ReadyDocument, method: string, target: string, body?: object) {
  const key = { id: ready.api_key, secret: new Secret(ready.api_secret) };
  return sendSigned({ url: ready.url, key, clock: systemClock, method, target, localAddress, ...(body && { body }) });
}

interface Call {
  hostname: string;
  port: string;
  path: string;
  headers: Record<string, string>;
}

/** The body of a 200. @throws on any other answer, and on none */
function read(call: Call): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...call, localAddress, agent: false, timeout: patienceMs }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      incoming.on("error", reject);
      incoming.on("end", () => {
        if (incoming.statusCode === 200) resolve(text);
        else reject(new Error(`answered ${incoming.statusCode}: ${text}`));
      });
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer")));
    outgoing.on("error", reject);
    outgoing.end();
  });
}
