import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type Admission, ConnectionLimits, type ConnectionLimitsOptions } from "#lib/net/connection-limits.ts";

const generous = {
  connectionsMax: 100,
  sourceConnectionsMax: 100,
  sourceHalfOpenMax: 100,
  halfOpenMs: 60_000,
  reservedPercent: 0,
  fewConnectionsMax: 8,
};

/** A limited listener that records the outcome of each connection. */
async function listen(t: TestContext, options: Partial<ConnectionLimitsOptions>) {
  const limits = new ConnectionLimits({ ...generous, ...options });
  const accepted: Socket[] = [];
  const admissions: Admission[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    accepted.push(socket);
    admissions.push(limits.add(socket));
    server.emit("admitted");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clients: Socket[] = [];
  t.after(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  /** Opens connections one after another and returns the outcome of each. */
  const open = async (localAddress: string, count: number) => {
    const before = admissions.length;
    for (let opened = 0; opened < count; opened += 1) {
      const admitted = once(server, "admitted");
      const client = connect({ port, host: "127.0.0.1", localAddress });
      client.on("error", () => {}).resume();
      clients.push(client);
      await admitted;
    }
    return admissions.slice(before).join(" ");
  };
  return { limits, accepted, clients, open };
}

const closed = (socket: Socket) => (socket.closed ? undefined : once(socket, "close"));

test("a source over its share is refused, then cut, while another source is served", async (t) => {
  const { open, accepted, limits } = await listen(t, { sourceConnectionsMax: 3, sourceHalfOpenMax: 2 });
  assert.equal(await open("127.0.0.2", 6), "served served served refused refused cut");
  assert.equal(await open("127.0.0.3", 1), "served");
  assert.deepEqual(
    accepted.slice(2, 4).map((socket) => limits.isRefused(socket)),
    [false, true],
  );
});

test("a place is free once its connection has closed", async (t) => {
  const { open, accepted, clients } = await listen(t, { sourceConnectionsMax: 1 });
  assert.equal(await open("127.0.0.2", 2), "served refused");
  clients[0]?.destroy();
  await closed(accepted[0]!);
  assert.equal(await open("127.0.0.2", 2), "served refused");
});

test("the last places are kept for sources with few connections", async (t) => {
  const { open } = await listen(t, { connectionsMax: 10, reservedPercent: 20, fewConnectionsMax: 2 });
  assert.equal(await open("127.0.0.2", 9), `${"served ".repeat(8)}refused`);
  assert.equal(await open("127.0.0.3", 1), "served");
  assert.equal(await open("127.0.0.4", 2), "served refused");
});

test("a trusted peer has no share of its own and no time limit for its openings", async (t) => {
  const { open, accepted } = await listen(t, {
    sourceConnectionsMax: 1,
    connectionsMax: 4,
    reservedPercent: 50,
    fewConnectionsMax: 1,
    halfOpenMs: 50,
    isTrusted: (address: string) => address === "127.0.0.9",
  });
  assert.equal(await open("127.0.0.9", 5), "served served served served refused");
  assert.equal(await open("127.0.0.2", 1), "refused");
  // The refused connection is cut in time, and no other.
  await Promise.all(accepted.slice(4).map(closed));
  assert.equal(
    accepted.slice(0, 4).some((socket) => socket.destroyed),
    false,
  );
});

test("a source has a limited number of half-open connections for a limited time; opened ones stay", async (t) => {
  const ended: Socket[] = [];
  const { open, accepted, limits } = await listen(t, {
    sourceHalfOpenMax: 2,
    halfOpenMs: 500,
    endHalfOpen: (socket) => {
      ended.push(socket);
      socket.destroy();
    },
  });
  await open("127.0.0.2", 6);
  limits.opened(accepted[0]!);
  await Promise.all(accepted.slice(1).map(closed));
  // First the connections over the limit, beginning with the oldest.
  assert.deepEqual(
    ended.map((socket) => accepted.indexOf(socket)),
    [1, 2, 3, 4, 5],
  );
  assert.equal(accepted[0]?.destroyed, false);
  // It still counts, and another source is not affected.
  assert.equal(await open("127.0.0.3", 1), "served");
});
