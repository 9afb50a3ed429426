import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { generate } from "selfsigned";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { formatJoinToken, parseJoinToken } from "#nodes/agent/join-token.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { OperatorError } from "#operator-error.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";

describe("joining a gateway", async () => {
  const channel = await startTestChannel({ after });
  const machine = await channel.join("web-1");
  const again = `${machine.configPath}.again`;

  test("only root can read the agent's configuration", async () => {
    assert.equal((await stat(machine.configPath)).mode & 0o777, 0o600);
  });

  test("a token makes one machine a node, once", async () => {
    const token = (await channel.token("web-1")).reveal();
    assert.deepEqual(await joinGateway(token, again, systemClock), { node: "web-1", siteDomain: "localhost" });
    await assert.rejects(joinGateway(token, `${again}.2`, systemClock), /does not accept the token/);
  });

  test("a newer token replaces the older one", async () => {
    const older = (await channel.token("web-1")).reveal();
    await channel.token("web-1");
    await assert.rejects(joinGateway(older, `${again}.2`, systemClock), /does not accept the token/);
  });

  test("a token expires after 24 hours", async () => {
    const clock = createManualClock(unixSeconds(systemClock) - 24 * 3_600 - 1);
    const token = await createJoinToken({ ...channel.context, clock }, "web-1");
    await assert.rejects(joinGateway(token.reveal(), `${again}.2`, systemClock), /does not accept the token/);
  });

  test("an unknown node gets no token", async () => {
    await assert.rejects(channel.token("web-9"), OperatorError);
  });

  test("a server with another key than the token names receives nothing", async () => {
    let heard = "";
    const impostor = await generate([{ name: "commonName", value: "gateway.test" }], { keyType: "ec", curve: "P-256" });
    const server = createServer({ key: impostor.private, cert: impostor.cert }, (request) => {
      heard += request.url;
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { pin, secret } = parseJoinToken((await channel.token("web-1")).reveal());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const token = formatJoinToken({ url, pin, secret }).reveal();
    await assert.rejects(joinGateway(token, `${again}.2`, systemClock), /shows another key/);
    await new Promise((resolve) => server.close(resolve));
    assert.equal(heard, "");
  });

  test("without a pinned key, the certificate must come from a trusted authority", async () => {
    const { url, secret } = parseJoinToken((await channel.token("web-1")).reveal());
    const token = formatJoinToken({ url, pin: null, secret }).reveal();
    await assert.rejects(joinGateway(token, `${again}.2`, systemClock), /certificate/);
  });

  test("an agent speaks plain HTTP on loopback only", () => {
    for (const url of [
      "http://192.0.2.1:7443",
      "http://gateway.example",
      "http://127.example.net",
      "ftp://127.0.0.1",
      "gateway",
    ]) {
      assert.throws(() => createTransport({ url, pin: null }), /https/);
    }
    for (const url of ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://gateway.example"]) {
      createTransport({ url, pin: null }).close();
    }
  });

  test("the error for an invalid token does not repeat it", () => {
    for (const text of ["hunter2", "dhnode_hunter2", `dhnode_${Buffer.from("{}").toString("base64url")}`]) {
      assert.throws(
        () => parseJoinToken(text),
        (error: Error) => !error.message.includes("hunter2"),
      );
    }
    // What the command prints has the token in it; two tokens would leave open which is meant.
    const token = formatJoinToken({ url: "https://a.example", pin: null, secret: new Secret("hunter2") }).reveal();
    for (const text of [`node   web-1\ntoken  ${token}\nnext   on its machine\n`, JSON.stringify({ token }, null, 2)]) {
      assert.equal(parseJoinToken(text).url, "https://a.example");
    }
    assert.throws(() => parseJoinToken(`${token} ${token}`), /not a node's token/);
    assert.equal(`${formatJoinToken({ url: "x", pin: null, secret: new Secret("x") })}`, "[secret]");
  });
});
