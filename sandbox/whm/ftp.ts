/** The panel's FTP server: Debian's ProFTPD, with logins and quotas from files. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Account, type Accounts, mebibyte } from "./accounts.ts";

/** For `skip`: why no FTP server can run here, or false. */
export const cannotServeFtp: string | false =
  process.getuid?.() !== 0 ? "not root" : whyMissing("proftpd", "-v") || whyMissing("ftpquota", "--help");

function whyMissing(program: string, argument: string): string | false {
  return spawnSync(program, [argument]).error !== undefined && "proftpd-core is not installed";
}

export interface FtpServer {
  port: number;
  apply(): void;
  endSessions(account: Account): void;
  close(): Promise<void>;
}

/**
 * @param tls PEM files; sessions without TLS are refused
 * @param readsBcrypt whether its crypt() supports bcrypt; not all do
 */
export async function startFtp(
  folder: string,
  accounts: Accounts,
  tls: { certFile: string; keyFile: string },
  readsBcrypt: boolean,
): Promise<FtpServer> {
  const port = await freePort();
  const quotas = new Map<string, number>();
  const table = (type: string) => [
    "--table-type=file",
    `--type=${type}`,
    `--table-path=${join(folder, `${type}.tab`)}`,
  ];
  const ftpquota = (...args: string[]) => execFileSync("ftpquota", args, { stdio: "ignore" });
  for (const type of ["limit", "tally"]) ftpquota("--create-table", ...table(type));
  const apply = () => {
    const lines = [...accounts.byUser.values()]
      .filter(({ suspended }) => !suspended)
      .flatMap((account) => loginLines(account, readsBcrypt));
    replace(join(folder, "logins"), lines.join(""));
    const groups = [...accounts.byUser.values()].map(({ user, uid }) => `${user}:x:${uid}:\n`);
    replace(join(folder, "groups"), groups.join(""));
    for (const { user, quotaMb } of accounts.byUser.values()) {
      if ((quotas.get(user) ?? 0) === quotaMb) continue;
      const verb = quotas.has(user) ? "--update-record" : "--add-record";
      const bytes = quotaMb === 0 ? -1 : quotaMb * mebibyte;
      const kind = ["--quota-type=group", "--limit-type=hard", "--units=byte", `--bytes-upload=${bytes}`];
      ftpquota(verb, ...table("limit"), `--name=${user}`, ...kind);
      quotas.set(user, quotaMb);
    }
  };
  apply();
  const file = join(folder, "proftpd.conf");
  writeFileSync(file, configuration(folder, port, tls));
  const server = spawn("proftpd", ["-n", "-q", "-c", file], { stdio: ["ignore", "pipe", "pipe"] });
  await listens(server, port);
  return {
    port,
    apply,
    endSessions: (account) => endSessions(account, server.pid!),
    async close() {
      for (const account of accounts.byUser.values()) endSessions(account, server.pid!);
      if (server.exitCode !== null || server.signalCode !== null) return;
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
    },
  };
}

function loginLines({ uid, ftp }: Account, readsBcrypt: boolean): string[] {
  return ftp.map(({ name, domain, hash, folder }) => {
    const known = readsBcrypt || !hash.startsWith("$2b$") ? hash : "*";
    return `${name}@${domain}:${known}:${uid}:${uid}::${folder}:/bin/false\n`;
  });
}

function replace(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** After the login, a session's process has the account's uid. Other panels on this machine use the same uids. */
function endSessions({ uid }: Account, serverPid: number): void {
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const isSession = new RegExp(`^PPid:\\s+${serverPid}$`, "m").test(status);
      if (isSession && new RegExp(`^Uid:\\s+${uid}\\s`, "m").test(status)) process.kill(Number(pid), "SIGTERM");
    } catch {
      // It has already ended.
    }
  }
}

function configuration(folder: string, port: number, { certFile, keyFile }: { certFile: string; keyFile: string }) {
  const path = (name: string) => join(folder, name);
  return `${[
    ...["tls", "quotatab", "quotatab_file"].map((name) => `LoadModule mod_${name}.c`),
    'ServerName "panel"',
    "ServerType standalone",
    // Its certificate is not valid for the second one.
    "DefaultAddress 127.0.0.1 127.0.0.2",
    `Port ${port}`,
    "SocketBindTight on",
    "UseIPv6 off",
    "UseReverseDNS off",
    "User nobody",
    "Group nogroup",
    `PidFile ${path("proftpd.pid")}`,
    `ScoreboardFile ${path("scoreboard")}`,
    `SystemLog ${path("proftpd.log")}`,
    "TransferLog none",
    "WtmpLog off",
    `DelayTable ${path("delays")}`,
    "AuthOrder mod_auth_file.c",
    `AuthUserFile ${path("logins")}`,
    `AuthGroupFile ${path("groups")}`,
    "RequireValidShell off",
    "DefaultRoot ~",
    "RootRevoke on",
    "AllowOverwrite on",
    "TLSEngine on",
    "TLSRequired on",
    `TLSRSACertificateFile ${certFile}`,
    `TLSRSACertificateKeyFile ${keyFile}`,
    "TLSOptions NoSessionReuseRequired",
    "QuotaEngine on",
    `QuotaLimitTable file:${path("limit.tab")}`,
    `QuotaTallyTable file:${path("tally.tab")}`,
    `QuotaLock ${path("quota.lock")}`,
    "QuotaDirectoryTally on",
    "QuotaOptions ScanOnLogin",
  ].join("\n")}\n`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}

/** @throws Error with its output, when it ends before it listens */
async function listens(server: ChildProcess, port: number): Promise<void> {
  let printed = "";
  for (const stream of [server.stdout, server.stderr]) stream?.on("data", (text) => (printed += text));
  while (!(await accepts(port))) {
    if (server.exitCode !== null) throw new Error(`proftpd does not listen: ${printed}`);
    await pause(20);
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
