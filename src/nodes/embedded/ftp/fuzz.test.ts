/**
 * Random sequences of commands. `PROPERTY_SEED=7 npm test -- src/nodes/embedded/ftp/fuzz.test.ts` tries
 * other ones; a failure prints the seed and the shortest sequence that fails.
 */
import assert from "node:assert/strict";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { useFtpStage } from "#nodes/embedded/ftp/test-stage.ts";
import { password, usageOf } from "#nodes/test-account.ts";

const seed = Number(process.env.PROPERTY_SEED ?? 20_261_121);
const runs = 150;

const verbs = [
  ...["USER", "PASS", "AUTH", "PBSZ", "PROT", "FEAT", "OPTS", "STAT", "NOOP", "TYPE", "STRU", "MODE", "ABOR", "QUIT"],
  ...[
    "PWD",
    "CWD",
    "CDUP",
    "SIZE",
    "MDTM",
    "MLST",
    "DELE",
    "MKD",
    "RMD",
    "RNFR",
    "RNTO",
    "PASV",
    "EPSV",
    "ALLO",
    "LIST",
  ],
  ...["NLST", "MLSD", "RETR", "STOR", "APPE", "REST", "SITE", "PORT", "EPRT", "MFMT", "HELP", "XYZ", ""],
];
const names = [
  "www",
  "a",
  "b",
  "link",
  "..",
  ".",
  "",
  "gr\u00fc\u00df",
  "x".repeat(300),
  "a b",
  "%2e%2e",
  "*",
  "\\",
  "-la",
];
const path = fc.array(fc.constantFrom(...names), { maxLength: 6 }).map((parts) => parts.join("/"));
const inside = fc
  .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 })
  .map((parts) => `/www/${parts.join("/")}`);
const argument = fc.oneof(
  { weight: 4, arbitrary: inside },
  path,
  fc.string(),
  fc.constantFrom("I", "P", "C", "1", "ALL"),
);
const command = fc.tuple(fc.constantFrom(...verbs.filter((verb) => verb !== "AUTH" && verb !== "QUIT")), argument);
const line = fc.oneof(
  { weight: 6, arbitrary: command.map(([verb, rest]) => Buffer.from(`${verb} ${rest}`)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
);
/** A line, and what a client does about the data connection beside it. */
const step = fc.record({ line, data: fc.constantFrom("none", "none", "connect", "send", "cut") });

describe("FTP commands in any order", () => {
  // A transfer without a client ends at once; quotas and paths are near enough to be reached.
  const stage = useFtpStage({ limits: { dataConnectMs: 20, dataStallMs: 50, pathBytesMax: 400, guessesMax: 100 } });

  /** Everything below the node's folder that is not the account's own. */
  const surroundings = async (uid: number) => {
    const found = await readdir(stage.node.dataDir, { recursive: true });
    return found.filter((name) => !name.startsWith(`homes/${uid}/www/`)).toSorted();
  };

  test(`each is answered once, nothing appears outside the home, and no error is ours (seed ${seed})`, async () => {
    const neighbour = await stage.make();
    await writeFile(join(neighbour.docroot, "secret.txt"), "secret");
    const { identifier, uid, docroot, client } = await stage.make({ diskBytesMax: 2_000, filesMax: 20 });
    client.close();
    await symlink(neighbour.docroot, join(docroot, "link"));
    const before = await surroundings(uid);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), fc.boolean(), async (steps, logsIn) => {
        const session = logsIn
          ? await TestFtpClient.logIn(stage.port, identifier)
          : (await TestFtpClient.connect(stage.port)).client;
        for (const { line: bytes, data } of steps) {
          const socket = data === "none" ? undefined : await openData(session);
          // Bytes may hold ends of lines: each line is a command.
          session.write(Buffer.concat([bytes, Buffer.from("\r\nSYST\r\n")]));
          if (data === "send") socket?.end("content ".repeat(50));
          if (data === "cut") socket?.destroy();
          if (!(await answeredOnce(session, bytes))) break;
          socket?.destroy();
        }
        session.close();
        assert.equal(stage.node.logged(), "");
      }),
      { seed, numRuns: runs },
    );
    assert.deepEqual(await surroundings(uid), before);
    assert.equal(await readFile(join(neighbour.docroot, "secret.txt"), "utf8"), "secret");
    const used = await usageOf(stage.node.driver, identifier);
    await stage.node.restart();
    // The symlink, which no FTP command can make or remove, counts as a file with the length of its target.
    const counted = await usageOf(stage.node.driver, identifier);
    assert.deepEqual(counted, { bytes: used.bytes + neighbour.docroot.length, files: used.files + 1 });
    assert.ok(used.files <= 20 && used.bytes <= 2_000);
    assert.ok(!stage.node.logged().includes(password));
  });
});

/** Whether the session continues. Each line gets one final reply, then comes the one to SYST. */
async function answeredOnce(session: TestFtpClient, bytes: Buffer): Promise<boolean> {
  const lines = bytes.filter((byte) => byte === 0x0a).length + 1;
  let finals = 0;
  for (;;) {
    const { code } = await session.reply();
    if (code === 0) return false;
    if (code === 215) break;
    if (code >= 200) finals += 1;
  }
  assert.equal(finals, lines, JSON.stringify(bytes.toString("latin1")));
  return true;
}

/** A data connection, if the session gets one. */
async function openData(session: TestFtpClient) {
  const { code, text } = await session.send("EPSV");
  if (code !== 229) return undefined;
  const socket = connect(Number(/\|\|\|(\d+)\|/.exec(text)?.[1]), "127.0.0.1");
  return socket.on("error", () => {}).resume();
}
