/** Checks the installed node as its customers would use it. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { noSiteText } from "#nodes/probe.ts";

/** Servers need a moment after their start. */
const patienceMs = 10_000;
const pauseMs = 250;
const stepMs = 5_000;

/**
 * Checks that the FTP server speaks TLS with our certificate, and that the web server serves our page for names without a site.
 * @param certificate PEM: the certificate that the FTP server must present
 * @throws Error that says where to look
 */
export async function probeMachine(ftp: Endpoint, web: Endpoint, certificate: string, clock: Clock): Promise<void> {
  await patiently(clock, "proftpd", () => probeFtp(ftp, certificate));
  await patiently(clock, "nginx", () => probeWeb(web));
}

async function patiently(clock: Clock, unit: string, probe: () => Promise<void>): Promise<void> {
  const deadlineMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (clock.monotonicMs() > deadlineMs) {
        throw new Error(`${(error as Error).message}: see journalctl -u ${unit}`);
      }
      await sleep(pauseMs);
    }
  }
}

async function probeFtp({ host, port }: Endpoint, certificate: string): Promise<void> {
  const socket = connect(port, host).setTimeout(stepMs, () => socket.destroy(new Error("the FTP server is silent")));
  try {
    await expectReply(socket, /^220[ -]/);
    socket.write("AUTH TLS\r\n");
    await expectReply(socket, /^234 /);
    const secure = connectTls({
      socket,
      ca: certificate,
      checkServerIdentity: () => undefined,
      allowPartialTrustChain: true,
    });
    await once(secure, "secureConnect");
  } catch (error) {
    throw new Error(`the FTP server at ${host}:${port} does not work (${(error as Error).message})`);
  } finally {
    socket.destroy();
  }
}

/** The greeting and each reply are a single line, and arrive in one piece. */
async function expectReply(socket: Socket, expected: RegExp): Promise<void> {
  const [reply] = (await once(socket, "data")) as [Buffer];
  if (!expected.test(reply.toString("latin1"))) throw new Error(`it replied: ${reply.toString("latin1").trim()}`);
}

async function probeWeb(web: Endpoint): Promise<void> {
  const sent = request({ ...web, path: "/", headers: { host: "probe.invalid" }, agent: false, timeout: stepMs });
  sent.on("timeout", () => sent.destroy(new Error("it is silent"))).end();
  const at = `the web server at ${web.host}:${web.port}`;
  const [response] = (await once(sent, "response").catch((error: Error) => {
    throw new Error(`${at} does not work (${error.message})`);
  })) as [IncomingMessage];
  if ((await text(response)).trim() !== noSiteText) throw new Error(`${at} is not the installed one`);
}
