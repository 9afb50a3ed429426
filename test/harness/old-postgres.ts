/** For tests: a server that speaks as much of PostgreSQL's protocol as it takes to say which version it is. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { systemClock } from "#lib/clock.ts";

/** A message: its type, its length with these four bytes, and its content (PostgreSQL, §"Message Formats"). */
function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const ready = message("Z", Buffer.from("I"));
const welcome = Buffer.concat([message("R", Buffer.alloc(4)), ready]);
const textOid = 25;

/** One row with one text. */
function rowOf(name: string, value: string): Buffer {
  const field = Buffer.alloc(18);
  field.writeInt32BE(textOid, 6);
  const length = Buffer.alloc(4);
  length.writeInt32BE(value.length);
  return Buffer.concat([
    message("T", Buffer.concat([Buffer.from([0, 1]), Buffer.from(`${name}\0`), field])),
    message("D", Buffer.concat([Buffer.from([0, 1]), length, Buffer.from(value)])),
    message("C", Buffer.from("SHOW\0")),
    ready,
  ]);
}

/** What such a server says to `selectFacts`, beyond its version. */
const facts = {
  isStandby: false,
  isReadOnly: false,
  hasFsync: true,
  hasFullPageWrites: true,
  encoding: "UTF8",
  synchronousCommit: "on",
  synchronousStandbys: 0,
  isShared: false,
  systemIdentifier: "1",
  timeline: 1,
};

/** @param number its `server_version_num` @returns its URL, and the queries that it has received */
export async function startOldPostgres(scope: { after(work: () => unknown): void }, number: number) {
  const queries: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let isWelcome = false;
    socket.on("error", () => {});
    // Each message of these tests is short, and arrives in one piece.
    socket.on("data", (data) => {
      const type = String.fromCharCode(data[0]!);
      if (isWelcome && type === "X") return socket.end();
      if (!isWelcome) socket.write(welcome);
      else {
        queries.push(data.toString("utf8", 5, data.indexOf(0, 5)));
        const clockMs = systemClock.now().getTime();
        socket.write(rowOf("facts", JSON.stringify({ ...facts, version: number, clockMs })));
      }
      isWelcome = true;
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  scope.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://deedhouse@127.0.0.1:${port}/deedhouse`, queries };
}
