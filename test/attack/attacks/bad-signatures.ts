import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import type { ReadyDocument } from "../../harness/running-system.ts";
import type { Attack } from "../attack.ts";

const [connectionsCount, requestsPerConnection] = [200, 10];
const pauseMs = 500;
/** Spells differently in each of the ways in which clients encode, and is as long as a target may be. */
const target = "/v1/domains?x=".concat("Ab%2c~!*'()%20$".repeat(600)).slice(0, 8_192);

export const attack: Attack = {
  name: "bad-signatures",
  about: `bursts of ${connectionsCount * requestsPerConnection} bad signatures with targets of 8 kB, half of them for a key that exists, each burst from an address of its own`,
  victim: "signed-read",
  async run(ready, signal) {
    for (let burst = 0; !signal.aborted; burst++) {
      await sendBurst(ready, `127.0.2.${(burst % 250) + 1}`, signal);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  },
};

/** Ends when every connection has ended. */
async function sendBurst({ url, api_key: apiKey }: ReadyDocument, localAddress: string, signal: AbortSignal) {
  const { hostname, port } = new URL(url);
  const request = (isLast: boolean) => {
    const key = randomBytes(1)[0]! < 128 ? apiKey : randomBytes(16).toString("hex");
    const signature = randomBytes(32).toString("base64");
    const authorization = `hmac ${key}:${signature}:${randomBytes(16).toString("hex")}:${unixSeconds(systemClock)}`;
    const close = isLast ? "connection: close\r\n" : "";
    return `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n${close}\r\n`;
  };
  const connections = Array.from({ length: connectionsCount }, () => {
    const socket = connect({ host: hostname, port: Number(port), localAddress, signal });
    socket.on("error", () => {});
    socket.resume();
    for (let sent = 1; sent <= requestsPerConnection; sent++) socket.write(request(sent === requestsPerConnection));
    return new Promise((resolve) => socket.once("close", resolve));
  });
  await Promise.all(connections);
}
