/** For tests: a customer's FTP session with a foreign client. */
import type { ConnectionOptions } from "node:tls";
import { Client } from "basic-ftp";
import type { Endpoint } from "#nodes/driver.ts";

/** As long as a machine may take that does other things too. */
const answerMs = 30_000;

/** @param tls TLS options; without them the session is unencrypted @throws when the login fails, after closing the connection */
export async function logInFtp(
  ftp: Endpoint,
  user: string,
  password: string,
  tls?: ConnectionOptions,
): Promise<Client> {
  const client = new Client(answerMs);
  try {
    await client.access({ ...ftp, user, password, ...(tls && { secure: true, secureOptions: tls }) });
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}
