/** The operator's list of name servers. */
import { isIP } from "node:net";
import { resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { Secret } from "#lib/secret.ts";
import { OperatorError } from "#operator-error.ts";
import { catalogName, ensureCatalog, issueNextBeacon, readCatalog } from "#zones/servers/catalog.ts";
import { isFed, keyRowId, readServers, type ServerWithKeys } from "#zones/servers/rows.ts";

type ManageContext = Pick<Context, "database" | "sealer" | "random" | "clock" | "log">;

const secretBytes = 32;
const keyNameBytes = 4;
const idShape = /^[a-z0-9][a-z0-9-]{0,30}$/;

const insertServer = statement(
  "name-server-add",
  `INSERT INTO name_servers (id, host_name, address, port, is_public, created_at)
   VALUES ($id, $host_name, $address, $port, $is_public, $now) ON CONFLICT DO NOTHING RETURNING id`,
  { id: "text" },
);
const insertKey = statement(
  "name-server-key-add",
  "INSERT INTO name_server_keys (name, name_server, secret, created_at) VALUES ($name, $id, $secret, $now)",
  {},
);
const dropOldKeys = statement(
  "name-server-keys-drop",
  `DELETE FROM name_server_keys WHERE name_server = $id AND name <> (
     SELECT name FROM name_server_keys WHERE name_server = $id ORDER BY created_at DESC, name LIMIT 1) RETURNING name`,
  { name: "text" },
);
const removeServer = statement("name-server-remove", "DELETE FROM name_servers WHERE id = $id RETURNING id", {
  id: "text",
});

export interface NewServer {
  id: string;
  hostName: string;
  address: string;
  port: number;
  isPublic: boolean;
}

/** Adds a name server with its key. @throws OperatorError */
export async function addServer(context: ManageContext, { id, hostName, address, port, isPublic }: NewServer) {
  if (!idShape.test(id))
    throw new OperatorError("refused", `${id} is no id: use lower-case letters, digits and hyphens`);
  if (isIP(address) === 0) throw new OperatorError("refused", `${address} is not an address such as 192.0.2.53`);
  const host_name = readHostName(hostName);
  await ensureCatalog(context);
  await issueNextBeacon(context);
  const now = context.clock.now();
  await context.database.transaction(async (tx) => {
    const [added] = await tx.query(insertServer, { id, host_name, address, port, is_public: isPublic, now });
    if (!added) throw new OperatorError("refused", `there is a name server ${id}, or one named ${host_name}, already`);
    await tx.query(insertKey, newKey(context, id));
  });
  return { id, status: "added", next: `deedhouse nameservers config ${id} --for knot|bind --gateway ADDRESS` };
}

function readHostName(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (error instanceof InvalidDomainName) throw new OperatorError("refused", `${text}: ${error.message}`);
    throw error;
  }
}

function newKey({ random, sealer, clock }: ManageContext, id: string) {
  const name = `${id}-${random.bytes(keyNameBytes).toString("hex")}.deedhouse`;
  const secret = sealer.seal(keyRowId(name), new Secret(random.bytes(secretBytes).toString("base64")));
  return { name, id, secret, now: clock.now() };
}

/** @throws OperatorError */
export async function findServer(context: Pick<Context, "database" | "sealer">, id: string): Promise<ServerWithKeys> {
  const server = (await readServers(context)).find((each) => each.id === id);
  if (!server) throw new OperatorError("not-found", `there is no name server ${id}: deedhouse nameservers list`);
  return server;
}

/** Adds a key, or drops all but the newest one. @throws OperatorError */
export async function renewKey(context: ManageContext, id: string, dropsOld: boolean) {
  await findServer(context, id);
  if (dropsOld) {
    const dropped = await context.database.query(dropOldKeys, { id });
    return { id, dropped: dropped.map(({ name }) => name) };
  }
  await context.database.query(insertKey, newKey(context, id));
  return { id, status: "both keys are valid", next: `nameservers config ${id}, then nameservers key ${id} --drop-old` };
}

/** @throws OperatorError */
export async function removeNameServer(context: ManageContext, id: string) {
  const [removed] = await context.database.query(removeServer, { id });
  if (!removed) throw new OperatorError("not-found", `there is no name server ${id}: deedhouse nameservers list`);
  for (const kind of ["name-server", "name-server-restored"] as const) {
    await resolveAlarm(context, { kind, subject: id });
  }
  return { id, status: "removed" };
}

export async function describeServers(context: ManageContext) {
  const [servers, catalog] = await Promise.all([readServers(context), readCatalog(context)]);
  const now = context.clock.now();
  return servers.map((server) => ({
    id: server.id,
    name: server.host_name,
    address: server.address,
    port: server.port,
    is_public: server.is_public,
    status: server.is_ahead ? "ahead" : isFed(server, now) ? "fed" : "not fed",
    seen_at: server.seen_at,
    keys: server.keys.length,
    catalog: catalog ? catalogName(catalog.label) : null,
    problem: server.problem,
  }));
}
