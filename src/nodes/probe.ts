/** Probes an account as its owner would use it, over the real ports. */
import { request } from "node:http";
import { Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { Client } from "basic-ftp";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { type Endpoint, NodeUnavailable } from "#nodes/driver.ts";

/** The page that all kinds of nodes serve for a host name without a site: it shows a probe that there is no account yet. */
export const noSiteText = "There is no site of this name here.";

const stepMs = 10_000;
const pageBytesMax = 65_536;
const namePrefix = "deedhouse-probe-";

/**
 * `certificate`: PEM, the certificate that the FTP server must present, whatever names it contains. `authority`: PEM, the
 * authority that must have signed the server's certificate for its host name; undefined: one of the system's.
 */
export type ProbeLogin = { user: string; password: string } & (
  | { certificate: string }
  | { authority: string | undefined }
);

export interface ProbeOptions {
  ftp: Endpoint;
  web: Endpoint;
  siteDomain: string;
  identifier: string;
  random: Random;
  log: Log;
  /** The site's folder, as this login sees it. Default `/www`. */
  folder?: string;
  /** Null when FTP is disabled: then only the site is read. */
  login: ProbeLogin | null;
}

/** @throws NodeUnavailable when any step fails */
export async function probeAccount(options: ProbeOptions): Promise<void> {
  try {
    if (options.login === null) await probeSite(options);
    else await probeUpload(options, options.login);
  } catch (error) {
    if (error instanceof NodeUnavailable) throw error;
    throw new NodeUnavailable(`the probe failed: ${(error as Error).message}`, { cause: error });
  }
}

async function probeSite(options: ProbeOptions): Promise<void> {
  const { status, body } = await readPage(options, "/");
  if (status >= 500 || body.trim() === noSiteText) throw new NodeUnavailable(`the site answers ${status}`);
}

type FtpOptions = Pick<ProbeOptions, "ftp" | "identifier" | "random" | "log" | "folder">;

/**
 * Logs in over TLS, and sends a file through a passive data connection: proves that an address leads to the account's FTP server.
 * @throws NodeUnavailable
 */
export async function probeLogin(options: FtpOptions, login: ProbeLogin): Promise<void> {
  try {
    await upload(options, login, async () => {});
  } catch (error) {
    throw new NodeUnavailable((error as Error).message, { cause: error });
  }
}

async function probeUpload(options: ProbeOptions, login: ProbeLogin): Promise<void> {
  await upload(options, login, async (name, content) => {
    const { status, body } = await readPage(options, `/${name}`);
    if (status === 200 && body === content) return;
    throw new NodeUnavailable(`the uploaded page reads back differently, with status ${status}`);
  });
}

/** @param look runs while the file is there */
async function upload(
  options: FtpOptions,
  login: ProbeLogin,
  look: (name: string, content: string) => Promise<void>,
): Promise<void> {
  const { ftp, random, folder = "/www" } = options;
  const name = `${namePrefix}${random.bytes(16).toString("hex")}.txt`;
  const content = random.bytes(32).toString("hex");
  const client = new Client(stepMs);
  try {
    await client.access({
      ...ftp,
      user: login.user,
      password: login.password,
      secure: true,
      secureOptions: trustOf(login),
    });
    await client.cd(folder);
    await removeLeftovers(client, options);
    await client.uploadFrom(Readable.from([content]), name);
    try {
      await look(name, content);
    } finally {
      await client.remove(name);
    }
  } finally {
    client.close();
  }
}

function trustOf(login: ProbeLogin): ConnectionOptions {
  // A pinned certificate may contain any name, and may be signed by anyone.
  if ("certificate" in login) {
    return { ca: login.certificate, checkServerIdentity: () => undefined, allowPartialTrustChain: true };
  }
  return login.authority === undefined ? {} : { ca: login.authority };
}

/** Deletes the files of probes that were killed. */
async function removeLeftovers(client: Client, { identifier, log }: FtpOptions): Promise<void> {
  for (const { name } of await client.list()) {
    if (!name.startsWith(namePrefix)) continue;
    await client.remove(name);
    log.info({ identifier }, "removed a file that an earlier probe left behind");
  }
}

/** Not `fetch`: it cannot send another Host header, and does not resolve names under `localhost`. */
function readPage(options: ProbeOptions, path: string): Promise<{ status: number; body: string }> {
  const { web, identifier, siteDomain } = options;
  const headers = { host: `${identifier}.${siteDomain}` };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(stepMs);
    const question = request({ ...web, path, headers, signal, agent: false }, async (response) => {
      try {
        let body = "";
        for await (const chunk of response.setEncoding("utf8")) {
          body += chunk;
          if (body.length > pageBytesMax) break;
        }
        resolve({ status: response.statusCode ?? 0, body });
      } catch (error) {
        reject(error);
      }
    });
    question.on("error", reject);
    question.end();
  });
}
