import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { whyServersSilent } from "#nodes/agent/readiness.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";

const at = (port: number) => ({ host: "127.0.0.1", port });

test("a node is ready while its FTP server greets and its web server answers, and says which of them does not", async (t) => {
  const node = await startTestNode();
  const { ftpPort, webPort } = node.ports;
  let isOpen = true;
  t.after(() => isOpen && node.close());
  assert.equal(await whyServersSilent(at(ftpPort), at(webPort)), undefined);

  // It accepts connections and says nothing, as a server that hangs.
  const hung = createServer((socket) => void socket.on("error", () => {}).resume());
  await once(hung.listen(0, "127.0.0.1"), "listening");
  t.after(() => hung.close());
  const { port } = hung.address() as AddressInfo;
  assert.equal(await whyServersSilent(at(ftpPort), at(port)), `no answer from the web server at 127.0.0.1:${port}`);

  await node.close();
  isOpen = false;
  assert.equal(
    await whyServersSilent(at(ftpPort), at(webPort)),
    `no answer from FTP at 127.0.0.1:${ftpPort} and the web server at 127.0.0.1:${webPort}`,
  );
});
