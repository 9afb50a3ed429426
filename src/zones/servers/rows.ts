/** The name servers that take zones from here, with their keys. */
import type { Context } from "#context.ts";
import type { Database } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { KnownServer } from "#dns/client.ts";
import type { TsigKey } from "#dns/tsig.ts";

/** A server without a good proof for so long is fed nothing. */
export const provenSecondsMax = 120;

const allServers = statement(
  "name-servers",
  `SELECT id, host_name, address, port, is_public, proven_at, beacon_serial, seen_at, is_ahead, problem, created_at
   FROM name_servers ORDER BY id`,
  {
    id: "text",
    host_name: "text",
    address: "text",
    port: "int4",
    is_public: "bool",
    proven_at: "timestamptz?",
    beacon_serial: "int8?",
    seen_at: "timestamptz?",
    is_ahead: "bool",
    problem: "text?",
    created_at: "timestamptz",
  },
);
export type NameServer = NonNullable<(typeof allServers)["row"]>;

// The key that was used last comes first: a new one may not be set up at the server yet.
const allKeys = statement(
  "name-server-keys",
  "SELECT name, name_server, secret, created_at, used_at FROM name_server_keys ORDER BY used_at DESC NULLS LAST, created_at DESC",
  { name: "text", name_server: "text", secret: "bytea", created_at: "timestamptz", used_at: "timestamptz?" },
);

export const listServers = ({ database }: { database: Database }): Promise<NameServer[]> =>
  database.query(allServers, {});

/** The id of a key's row, under which it is sealed. */
export const keyRowId = (name: string) => `name_server_keys.secret/${name}`;

export interface ServerWithKeys extends NameServer {
  /** The one that was used last comes first; there is always one. */
  keys: TsigKey[];
  /** The same, the newest first. */
  newestKeys: TsigKey[];
}

/** @throws UnreadableSecret */
export async function readServers({
  database,
  sealer,
}: Pick<Context, "database" | "sealer">): Promise<ServerWithKeys[]> {
  const [servers, keys] = await Promise.all([database.query(allServers, {}), database.query(allKeys, {})]);
  return servers.map((server) => {
    const own = keys
      .filter(({ name_server: owner }) => owner === server.id)
      .map(({ name, secret, created_at: at }) => {
        const opened = Buffer.from(sealer.open(keyRowId(name), secret).reveal(), "base64");
        const key: TsigKey = { name: `${name}.`, algorithm: "hmac-sha256", secret: opened };
        return { key, at };
      });
    const newest = own.toSorted((one, other) => other.at.getTime() - one.at.getTime());
    return Object.assign(server, { keys: own.map(({ key }) => key), newestKeys: newest.map(({ key }) => key) });
  });
}

/** Where a server is asked, with the key that was used last. */
export const knownServer = ({ address, port, keys }: ServerWithKeys, key = keys[0]!): KnownServer => ({
  address,
  port,
  key,
});

/** Whether it gets zones. */
export function isFed({ proven_at: provenAt, is_ahead: isAhead }: NameServer, now: Date): boolean {
  if (isAhead || !provenAt) return false;
  const ageMs = now.getTime() - provenAt.getTime();
  return ageMs < provenSecondsMax * 1_000;
}
