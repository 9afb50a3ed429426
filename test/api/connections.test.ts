import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { sendRaw } from "../harness/raw-http.ts";
import { authorize } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

// The share of connections of one address, and what it may send on them.

const attacker = "127.0.0.66";
const elsewhere = { localAddress: "127.0.0.99" };
const tiny = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

async function open(t: TestContext, { url }: TestGateway, localAddress = attacker): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress, allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Everything received until the connection ends. */
const received = (socket: Socket) => text(socket).catch(() => "");
const statuses = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

function signedHead(gateway: TestGateway, { key }: TestReseller, method: string, target: string, body = ""): string {
  const authorization = authorize({ key, clock: gateway.context.clock, method, target, ...(body && { body }) });
  const length = body && `Content-Length: ${body.length}\r\n`;
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${length}\r\n`;
}

test("serves others while one address pipelines a million requests", async (t) => {
  const failuresMax = 100;
  const gateway = await startTestGateway(t, { worker: false, server: { sourceFailuresMax: failuresMax } });
  const victim = await gateway.addReseller();
  const connectionsCount = 280;
  const flood = Buffer.from(tiny.repeat(3_600));
  const sockets = await Promise.all(Array.from({ length: connectionsCount }, () => open(t, gateway)));
  const answers = sockets.map(received);
  for (const socket of sockets) socket.write(flood);
  for (let count = 0; count < 20; count++) {
    assert.equal((await gateway.send(victim, "GET", "/domains", elsewhere)).status, 200);
  }
  const seen = (await Promise.all(answers)).flatMap(statuses);
  // On each connection, bytes after the closing answer are ignored.
  assert.equal(seen.filter((status) => status === 401).length, failuresMax);
  assert.ok(seen.length <= failuresMax + connectionsCount, `${seen.length} requests were answered`);
});

test("a source over its failure budget gets one 429, which ends its connection", async (t) => {
  const gateway = await startTestGateway(t, { worker: false, server: { sourceFailuresMax: 5 } });
  const [first, second] = [await open(t, gateway), await open(t, gateway)];
  const answers = received(first);
  first.write(tiny.repeat(100));
  assert.deepEqual(statuses(await answers), [401, 401, 401, 401, 401, 429]);
  const more = received(second);
  second.write(tiny.repeat(100));
  const refused = await more;
  assert.deepEqual(statuses(refused), [429]);
  assert.match(refused, /\r\nconnection: close\r\n/i);
});

test("an address over its share of connections gets a refusal, then is cut, and another address is served", async (t) => {
  const shares = { sourceConnectionsMax: 10, sourceHalfOpenMax: 4, halfOpenMs: 60_000 };
  const server = { connectionsMax: 20, shares: { ...shares, reservedPercent: 20, fewConnectionsMax: 8 } };
  const gateway = await startTestGateway(t, { worker: false, server });
  const victim = await gateway.addReseller();
  const sockets: Socket[] = [];
  for (let count = 0; count < 30; count++) sockets.push(await open(t, gateway));
  const cut = await Promise.all(sockets.slice(14).map(received));
  assert.deepEqual(cut, Array(16).fill(""));
  const refused = received(sockets[10]!);
  sockets[10]!.write(signedHead(gateway, victim, "GET", "/domains"));
  assert.deepEqual(statuses(await refused), [503]);
  assert.equal((await gateway.send(victim, "GET", "/domains", elsewhere)).status, 200);
  for (const socket of sockets) socket.destroy();
});

test("connections without a complete request end in time, and the excess ones of a source sooner", async (t) => {
  const shares = { sourceConnectionsMax: 100, sourceHalfOpenMax: 2, halfOpenMs: 1_000 };
  const server = { shares: { ...shares, reservedPercent: 20, fewConnectionsMax: 8 } };
  const gateway = await startTestGateway(t, { worker: false, server });
  const victim = await gateway.addReseller();
  const used = await open(t, gateway);
  used.write(signedHead(gateway, victim, "GET", "/domains"));
  await once(used, "data");
  const silent = await Promise.all(Array.from({ length: 10 }, () => open(t, gateway)));
  for (const socket of silent.slice(5)) socket.write("GET / HTTP/1.1\r\nHost: ");
  const ends: number[] = [];
  const answers = await Promise.all(silent.map((socket, index) => received(socket).finally(() => ends.push(index))));
  assert.deepEqual(answers.flatMap(statuses), Array(10).fill(408));
  assert.deepEqual(ends.slice(-2).toSorted(), [8, 9], "the youngest have all of the time");
  used.write(signedHead(gateway, victim, "GET", "/domains"));
  assert.match(String((await once(used, "data"))[0]), /^HTTP\/1.1 200 /);
});

test("a request that names its host twice, or not at all, is 400", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  for (const hosts of ["Host: a\r\nHost: b\r\n", "Host: a\r\nhost: a\r\n", "", "Host:\r\n"]) {
    const head = signedHead(gateway, reseller, "GET", "/domains").replace("Host: x\r\n", hosts);
    assertError(await sendRaw(gateway.url, head), "bad_request");
  }
  const old = signedHead(gateway, reseller, "GET", "/domains").replace(
    "HTTP/1.1\r\nHost: x",
    "HTTP/1.0\r\nHost: x\r\nHost: y",
  );
  assertError(await sendRaw(gateway.url, old), "bad_request");
});

test("a client that ends its side after a request gets its answer, and nothing is done without an answer", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  const read = await open(t, gateway);
  const answer = received(read);
  read.end(signedHead(gateway, reseller, "GET", "/domains"));
  assert.deepEqual(statuses(await answer), [200]);

  const target = "/hostingaccounts";
  const body = JSON.stringify({ servicepack_id: pack, identifier: "half.example", password: "twelve characters" });
  const write = await open(t, gateway);
  const accepted = received(write);
  write.end(signedHead(gateway, reseller, "POST", target, body) + body);
  assert.deepEqual(statuses(await accepted), [202]);

  const unfinished = await open(t, gateway);
  const refused = received(unfinished);
  const other = body.replace("half", "other");
  unfinished.end(signedHead(gateway, reseller, "POST", target, other) + other.slice(0, -5));
  assert.deepEqual(statuses(await refused), [400]);
  const rows = await runSql<{ identifier: string }>(gateway.databaseUrl, "SELECT identifier FROM hosting_accounts");
  assert.deepEqual(rows, [{ identifier: "half.example" }]);
});

test("a held answer is sent at once when its client ends its side", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  const body = { servicepack_id: pack, identifier: "waited.example", password: "twelve characters" };
  await gateway.send(reseller, "POST", "/hostingaccounts", { body });
  const socket = await open(t, gateway);
  const answer = received(socket);
  const head = signedHead(gateway, reseller, "GET", "/hostingaccounts/waited.example");
  socket.end(head.replace("Host: x", "Host: x\r\nPrefer: wait=30"));
  assert.match(await answer, /^HTTP\/1.1 200 [\s\S]*Provisioning|NotProvisioned/);
});

test("a client that ends its side after two requests waits for neither", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  const body = { servicepack_id: pack, identifier: "waited.example", password: "twelve characters" };
  await gateway.send(reseller, "POST", "/hostingaccounts", { body });
  const waiting = () =>
    signedHead(gateway, reseller, "GET", "/hostingaccounts/waited.example").replace("Host", "Prefer: wait=30\r\nHost");
  const patient = await open(t, gateway);
  const late = received(patient);
  patient.write(waiting().replace("Host", "Connection: close\r\nHost"));
  const socket = await open(t, gateway);
  const answers = received(socket);
  socket.end(signedHead(gateway, reseller, "GET", "/domains") + waiting());
  const first = await Promise.race([answers, late.then(() => "the one that waits")]);
  patient.destroy();
  assert.deepEqual(statuses(first), [200, 200]);
});
