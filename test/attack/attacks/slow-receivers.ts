import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Attack } from "../attack.ts";
import { sendAs } from "../sign.ts";

const [accountsCount, webhooksCount] = [4, 10];
const dripMs = 100;
const pauseMs = 1_000;
const hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);

export const attack: Attack = {
  name: "slow-receivers",
  about: `four accounts with ${webhooksCount} webhooks each, whose receivers answer 200 and then drip, or send 103 without end, and are tested again and again`,
  victim: "webhook-delivery",
  accountsCount,
  async run(ready, signal, accounts) {
    const port = await startReceiver(signal);
    const test = async (account: (typeof accounts)[number], index: number) => {
      const url = `http://127.0.0.1:${port}/${index % 2 === 0 ? "drips" : "hints"}`;
      const made = await sendAs(ready, account, "POST", "/webhooks", { url });
      const { id = "" } = (made?.body ?? {}) as { id?: string };
      while (!signal.aborted) {
        // The change forgives all failures.
        await sendAs(ready, account, "PUT", `/webhooks/${id}`, { enabled: true });
        await sendAs(ready, account, "POST", `/webhooks/${id}/test`);
        // A test that waits is sent once, and no receiver is waited for longer: more requests would only attack the api.
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    await Promise.all(
      accounts.flatMap((account) => Array.from({ length: webhooksCount }, (_, index) => test(account, index))),
    );
  },
};

/** Answers the first request for each webhook well. */
async function startReceiver(signal: AbortSignal): Promise<number> {
  const tested = new Set<string>();
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (head) => answer(socket, head.toString("latin1"), tested));
  });
  signal.addEventListener("abort", () => server.close(), { once: true });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

function answer(socket: Socket, head: string, tested: Set<string>): void {
  const webhook = /wh_[0-9a-f]+/.exec(head)?.[0] ?? "";
  if (!tested.has(webhook)) {
    tested.add(webhook);
    socket.end("HTTP/1.1 204 No Content\r\n\r\n");
  } else if (head.includes("POST /hints ")) {
    const more = () => socket.write(hints, (error) => error ?? more());
    more();
  } else {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const timer = setInterval(() => socket.write("."), dripMs);
    socket.once("close", () => clearInterval(timer));
  }
}
