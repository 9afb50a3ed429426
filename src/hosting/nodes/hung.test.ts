import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { pino } from "pino";
import { sparingJobs } from "#hosting/nodes/hung.ts";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { createCpanelDriver } from "#nodes/cpanel/driver.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

test("while a node hangs, one job tries it and the others come again later at once", async (t) => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(silent, "listening");
  t.after(() => silent.listening && silent.close());
  const place = { host: "127.0.0.1", port: (silent.address() as AddressInfo).port };
  const node = sparingJobs(
    createCpanelDriver({
      url: `https://${place.host}:${place.port}`,
      user: "reseller",
      token: new Secret("token"),
      installation: "a1b2",
      mailDomain: "ops.example",
      plan: undefined,
      ca: undefined,
      ftp: place,
      web: place,
      siteDomain: "localhost",
      requestMs: 5_000,
      clock: systemClock,
      random: systemRandom,
      log: pino({ level: "silent" }),
    }),
    systemClock,
  );
  await assert.rejects(node.list(), NodeUnavailable);
  assert.equal(sockets.length, 1);

  const trial = node.find("a.example").catch((error: unknown) => error);
  const spared = await Promise.allSettled(["b.example", "c.example"].map((identifier) => node.find(identifier)));
  for (const outcome of spared) {
    assert.ok(outcome.status === "rejected" && outcome.reason instanceof NodeUnavailable);
    assert.match(outcome.reason.message, /another account tries it/);
  }
  while (sockets.length < 2) await once(silent, "connection");
  silent.close();
  for (const socket of sockets) socket.destroy();
  assert.ok((await trial) instanceof NodeUnavailable);

  // It refuses quickly by now: everybody may ask.
  const outcomes = await Promise.allSettled(["b.example", "c.example"].map((identifier) => node.find(identifier)));
  for (const outcome of outcomes) {
    assert.ok(outcome.status === "rejected" && !/another account/.test(String(outcome.reason)));
  }
});
