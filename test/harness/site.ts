import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Endpoint } from "#nodes/driver.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";

/** Uploads one file into the account's site, over FTP with TLS. @throws when the login or the upload is refused */
export async function upload(
  ftp: Endpoint,
  user: string,
  password: string,
  file: string,
  content: string,
): Promise<void> {
  const client = await logInFtp(ftp, user, password, { rejectUnauthorized: false });
  try {
    await client.uploadFrom(Readable.from([content]), file);
  } finally {
    client.close();
  }
}

/** Reads a page of the site at this host name. */
export async function readPage(
  web: Endpoint,
  hostName: string,
  path: string,
): Promise<{ status: number; body: string }> {
  const sent = request({ ...web, path, headers: { host: `${hostName}:${web.port}` }, agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}
