/**
 * The minimum that can answer a signed read: node:http, one HMAC compared in constant time, one pipelined SELECT, JSON. No
 * routes, limits, nonces or refusals. The API is compared with it.
 *
 *   node bench/bare-server.ts <database url> <secret>    sends its port to its parent
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Writable } from "node:stream";
import { Client } from "pg";

const [databaseUrl = "", secret = ""] = process.argv.slice(2);
const pipelinedConnections = 2;

const domainByName = `SELECT domain_name, expiration_date, will_renew, registration_date, status, name_servers
  FROM domains WHERE reseller_id = $1 AND domain_name = $2`;

const clients = Array.from(
  { length: pipelinedConnections },
  () => new Client({ connectionString: databaseUrl, pipeline: true, application_name: "bare-server" }),
);
await Promise.all(clients.map((client) => client.connect()));
const { rows } = await clients[0]!.query<{ id: string }>("SELECT id FROM resellers LIMIT 1");
const resellerId = rows[0]?.id;
let readsCount = 0;

/** As in the API, the queries of one turn of the event loop leave in one write. */
function writeTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

const server = createServer(async (request, response) => {
  const [key = "", signature = "", nonce = "", timestamp = ""] =
    request.headers.authorization?.slice("hmac ".length).split(":") ?? [];
  const signed = `${key}get${encodeURIComponent(request.url ?? "")}${timestamp}${nonce}`;
  const expected = Buffer.from(createHmac("sha256", secret).update(signed).digest("base64"));
  if (!timingSafeEqual(expected, Buffer.from(signature))) return response.writeHead(401).end();
  const name = request.url?.slice("/domains/".length);
  const client = clients[readsCount++ % clients.length]!;
  writeTogether(client.connection.stream);
  const found = await client.query({ name: "domain", text: domainByName, values: [resellerId, name] });
  const body = JSON.stringify(found.rows[0]);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once("disconnect", () => process.exit());
