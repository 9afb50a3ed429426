import { once } from "node:events";
import { connect } from "node:net";
import type { Endpoint } from "#nodes/driver.ts";

const answerMsMax = 2_000;

/** Whether a node's own servers answer: FTP greets, and the web server answers a request, whatever it says. */
export async function whyServersSilent(ftp: Endpoint, web: Endpoint): Promise<string | undefined> {
  const silent = [
    ...((await saysSomething(ftp, "")) ? [] : [`FTP at ${ftp.host}:${ftp.port}`]),
    ...((await saysSomething(web, "HEAD / HTTP/1.0\r\n\r\n")) ? [] : [`the web server at ${web.host}:${web.port}`]),
  ];
  return silent.length === 0 ? undefined : `no answer from ${silent.join(" and ")}`;
}

async function saysSomething({ host, port }: Endpoint, first: string): Promise<boolean> {
  const socket = connect({ host, port }, () => socket.write(first));
  try {
    await once(socket, "data", { signal: AbortSignal.timeout(answerMsMax) });
    return true;
  } catch {
    return false;
  } finally {
    // An error that comes later has no other listener.
    socket.on("error", () => {});
    socket.destroy();
  }
}
