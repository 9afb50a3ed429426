import { Readable } from "node:stream";
import { Client } from "basic-ftp";

/** Uploads the front page of an account. @throws when the login or the upload is refused */
export async function uploadPage(
  { host, port }: { host: string; port: number },
  { identifier, password, page }: { identifier: string; password: string; page: string },
): Promise<void> {
  const client = new Client();
  try {
    await client.access({ host, port, user: identifier, password });
    await client.uploadFrom(Readable.from([page]), "www/index.html");
  } finally {
    client.close();
  }
}
