/** A port in front of another one, which delivers all bytes a little later. It runs in a thread, so that nothing else delays it. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { startTcpRelay } from "../test/harness/tcp-relay.ts";

interface Network {
  target: number;
  /** Each way. */
  delayMs: number;
}

async function deliverLater({ target, delayMs }: Network): Promise<void> {
  // Node runs timers of the same length in their order.
  const later = (to: Socket) => (chunk: Buffer) => void setTimeout(() => to.write(chunk), delayMs);
  const { port } = await startTcpRelay({
    target: () => ({ host: "127.0.0.1", port: target }),
    carry(client, upstream) {
      for (const socket of [client, upstream]) socket.setNoDelay(true);
      client.on("data", later(upstream));
      upstream.on("data", later(client));
    },
  });
  parentPort?.postMessage(port);
}

if (!isMainThread) await deliverLater(workerData as Network);

export async function startSlowNetwork(target: number, delayMs: number) {
  const thread = new Worker(new URL(import.meta.url), { workerData: { target, delayMs } satisfies Network });
  const [port] = (await once(thread, "message")) as [number];
  return { port, close: () => thread.terminate() };
}
