/** Which PostgreSQL the statements and migrations run on. */
import { Client } from "pg";
import { connectionConfig } from "#db/connection.ts";
import { translateError } from "#db/errors.ts";

const majorMin = 18;
/** `server_version_num` of 15.4 is 150004. */
const numbersPerMajor = 10_000;

/** The server is too old; the message says what to do. */
class OldPostgres extends Error {
  override readonly name = "OldPostgres";
}

/** @throws OldPostgres */
export async function refuseOldPostgres(client: Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>("SHOW server_version_num");
  const number = Number(rows[0]?.server_version_num);
  if (number >= majorMin * numbersPerMajor) return;
  const found = `${Math.floor(number / numbersPerMajor)}.${number % numbersPerMajor}`;
  throw new OldPostgres(
    `The database server is PostgreSQL ${found}, and Deedhouse needs version ${majorMin} or later: upgrade the server, or set DATABASE_URL to a newer one.`,
  );
}

/** For processes that run on a database that `migrate` has prepared. @throws OldPostgres, DatabaseUnavailable */
export async function requirePostgres(url: string, role: string): Promise<void> {
  const client = new Client(connectionConfig(url, `deedhouse-${role}`));
  client.on("error", () => {});
  try {
    await client.connect();
    await refuseOldPostgres(client);
  } catch (error) {
    throw translateError(error);
  } finally {
    await client.end();
  }
}
