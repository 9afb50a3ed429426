/**
 * Uploads to the embedded node and to ProFTPD, in turns, on the same machine: one large file by curl, and many small ones by lftp
 * over four sessions, in clear and over TLS. Both use the same certificate and, if possible, a folder in memory: otherwise the
 * disk would be measured.
 */
import { execFile, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { hashSync } from "@node-rs/bcrypt";
import { sleep, systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { createAccount } from "#nodes/test-embedded-node.ts";
import { medianOf, printTable } from "./statistics.ts";

const run = promisify(execFile);
const memoryFolder = "/dev/shm";
const rounds = 3;
const largeBytes = 256 * 1024 * 1024;
const smallFiles = 1_000;
const smallBytes = 4_096;
const uid = 200_001;
const user = "bench.example";
const password = "Kj8-tnQ4-vvR2";
const uploadMs = 300_000;

interface FtpServer {
  name: string;
  port: number;
  close(): Promise<void>;
}

export async function benchHostingUpload(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("ProFTPD serves each account under a uid of its own: run this as root");
  const folder = await mkdtemp(join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), "deedhouse-bench-"));
  const servers: FtpServer[] = [];
  try {
    await chmod(folder, 0o755);
    await mkdir(join(folder, "small"));
    await writeFile(join(folder, "large"), "");
    await truncate(join(folder, "large"), largeBytes);
    for (let number = 1; number <= smallFiles; number++) {
      await writeFile(join(folder, "small", String(number)), Buffer.alloc(smallBytes, number));
    }
    servers.push(await startEmbedded(folder));
    servers.push(await startProftpd(folder));
    await measure(folder, servers);
  } finally {
    for (const server of servers) await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string, servers: FtpServer[]): Promise<void> {
  const uploads = [
    { what: "one file, MB/s", units: largeBytes / 1e6, upload: uploadLarge },
    { what: "small files/s, 4 sessions", units: smallFiles, upload: uploadSmall },
  ];
  const rows: (string | number)[][] = [];
  for (const { what, units, upload } of uploads) {
    for (const tls of [false, true]) {
      const rates = new Map<string, number[]>(servers.map(({ name }) => [name, []]));
      for (let round = 0; round < rounds; round++) {
        for (const { name, port } of servers) {
          const startedMs = systemClock.monotonicMs();
          await upload(folder, port, tls);
          rates.get(name)?.push((units * 1000) / (systemClock.monotonicMs() - startedMs));
        }
      }
      const [embedded = Number.NaN, proftpd = Number.NaN] = servers.map(({ name }) => medianOf(rates.get(name) ?? []));
      rows.push([`${what}, ${tls ? "TLS" : "clear"}`, embedded, proftpd, embedded / proftpd]);
    }
  }
  printTable(["medians", ...servers.map(({ name }) => name), "ratio"], rows);
}

async function uploadLarge(folder: string, port: number, tls: boolean): Promise<void> {
  const options = ["--silent", "--show-error", "--user", `${user}:${password}`];
  if (tls) options.push("--ssl-reqd", "--insecure");
  const url = `ftp://127.0.0.1:${port}/www/large`;
  await run("curl", [...options, "--upload-file", join(folder, "large"), url], { timeout: uploadMs });
}

/** Not by curl, which takes some 40 ms for each of several files, whatever the server. */
async function uploadSmall(folder: string, port: number, tls: boolean): Promise<void> {
  // By default lftp reads the system's 144 authorities for each connection, which took ten times the upload.
  const settings = [
    `ssl:ca-file ${join(folder, "node/ftp-tls.pem")}`,
    "ssl:check-hostname no",
    `ftp:ssl-allow ${tls}`,
    `ftp:ssl-force ${tls}`,
  ];
  const commands = [
    ...[...settings, "ftp:ssl-protect-data true", "net:max-retries 1", "cmd:fail-exit true"].map((one) => `set ${one}`),
    `open -u ${user},${password} ftp://127.0.0.1:${port}`,
    `mirror --reverse --parallel=4 --transfer-all ${join(folder, "small")} /www/small`,
  ];
  await run("lftp", ["--norc", "-c", commands.join("; ")], { timeout: uploadMs });
}

async function startEmbedded(folder: string): Promise<FtpServer> {
  const dataDir = join(folder, "node");
  await createAccount(dataDir, {
    ...{ identifier: user, uid, passwordHash: new Secret(hash()) },
    ...{ diskBytesMax: 4 * largeBytes, filesMax: 2 * smallFiles, sessionsMax: 5 },
    ...{ ftpEnabled: true, suspended: false, hostNames: [] },
  });
  const env = {
    ...{ PATH: process.env.PATH, DEEDHOUSE_LOG_LEVEL: "warn", DEEDHOUSE_NODE_DATA_DIR: dataDir },
    ...{ DEEDHOUSE_NODE_FTP_PORT: "0", DEEDHOUSE_NODE_WEB_PORT: "0" },
  };
  const child = fork(join(import.meta.dirname, "../bin/deedhouse.ts"), ["node"], { env });
  const [{ ftpPort }] = await once(child, "message");
  const close = async () => {
    const exited = once(child, "exit");
    child.kill();
    await exited;
  };
  return { name: "embedded", port: ftpPort, close };
}

/** The library writes `$2y$` for what others call `$2b$`. */
function hash(): string {
  return hashSync(password, 10).replace("$2y$", () => "$2b$");
}

/** A plain configuration: `HiddenStores` and one uid per account, as on a node, but without quota. */
async function startProftpd(folder: string): Promise<FtpServer> {
  const base = join(folder, "proftpd");
  const home = join(base, "home");
  await mkdir(join(home, "www"), { recursive: true });
  await chown(join(home, "www"), uid, uid);
  await writeFile(join(base, "users"), `${user}:${hash()}:${uid}:${uid}::${home}:/bin/false\n`, { mode: 0o600 });
  await writeFile(join(base, "tls.pem"), await readFile(join(folder, "node/ftp-tls.pem")), { mode: 0o600 });
  const port = await freePort();
  await writeFile(join(base, "proftpd.conf"), proftpdConfiguration(base, port));
  const log = await open(join(base, "out"), "w");
  const child = spawn("proftpd", ["--nodaemon", "--config", join(base, "proftpd.conf")], {
    stdio: ["ignore", log.fd, log.fd],
  });
  await once(child, "spawn");
  const close = async () => {
    const exited = child.exitCode === null ? once(child, "exit") : undefined;
    child.kill();
    await exited;
    await log.close();
  };
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`ProFTPD ended: ${await readFile(join(base, "out"), "utf8")}`);
    await sleep(50);
  }
  return { name: "ProFTPD", port, close };
}

function proftpdConfiguration(base: string, port: number): string {
  return `ServerType standalone
ServerName bench
DefaultAddress 127.0.0.1
Port ${port}
User nobody
Group nogroup
UseIPv6 off
UseReverseDNS off
PidFile ${base}/pid
ScoreboardFile ${base}/scoreboard
DelayEngine off
WtmpLog off
TransferLog none
SystemLog none
RequireValidShell off
DefaultRoot ~
AllowOverwrite on
HiddenStores on
AuthOrder mod_auth_file.c
AuthUserFile ${base}/users
LoadModule mod_tls.c
TLSEngine on
TLSECCertificateFile ${base}/tls.pem
TLSECCertificateKeyFile ${base}/tls.pem
TLSRequired off
TLSProtocol TLSv1.2 TLSv1.3
`;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const opened = await once(socket, "data").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}
