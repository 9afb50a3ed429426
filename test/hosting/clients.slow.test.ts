import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Client } from "basic-ftp";
import { password, testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";

const run = promisify(execFile);
/** The time-out of one call of a program, on a busy machine. */
const callMs = 120_000;
/** ftp-srv, which was measured before, served 14 of 40. */
const rounds = 40;
const bytes = 100_000;

/** A reason to skip, or false. */
function missing(program: string): string | false {
  return spawnSync(program, ["--version"]).error === undefined ? false : `${program} is not installed`;
}

const pythonClient = `
import ftplib, io, ssl, sys
port, user, password, secure, rounds = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "tls", int(sys.argv[5])
for number in range(rounds):
    if secure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        ftp = ftplib.FTP_TLS(context=context)
    else:
        ftp = ftplib.FTP()
    ftp.connect("127.0.0.1", port, timeout=30)
    ftp.login(user, password)
    if secure: ftp.prot_p()
    ftp.cwd("/www")
    content = bytes([number]) * ${bytes}
    ftp.storbinary("STOR python.bin", io.BytesIO(content))
    received = io.BytesIO()
    ftp.retrbinary("RETR python.bin", received.write)
    assert received.getvalue() == content
    assert "python.bin" in ftp.nlst()
    assert dict(ftp.mlsd())["python.bin"]["size"] == str(len(content))
    ftp.delete("python.bin")
    ftp.quit()
`;

describe("real FTP clients", () => {
  let node: TestNode;
  let folder: string;
  before(async () => {
    node = await startTestNode();
    folder = await mkdtemp(join(tmpdir(), "deedhouse-clients-"));
    await node.driver.ensureAccount(testAccount("a.example", 1, { diskBytesMax: 50_000_000, filesMax: 1_000 }));
  });
  after(async () => {
    await node.close();
    await rm(folder, { recursive: true });
  });

  for (const tls of [false, true]) {
    const how = tls ? "over TLS" : "in clear";
    const ftpUrl = (path: string) => `ftp://127.0.0.1:${node.ports.ftpPort}${path}`;

    test(`curl uploads and downloads ${rounds} of ${rounds} times, ${how}`, { skip: missing("curl") }, async () => {
      const options = ["--silent", "--show-error", "--fail", "--max-time", "30", "--user", `a.example:${password}`];
      if (tls) options.push("--ssl-reqd", "--cacert", join(node.dataDir, "ftp-tls.pem"));
      const url = ftpUrl("/www/folder/curl.bin");
      const [sent, received] = [join(folder, "sent"), join(folder, "received")];
      for (let round = 0; round < rounds; round += 1) {
        await writeFile(sent, Buffer.alloc(bytes, round));
        const upload = [...options, "--ftp-create-dirs", "--upload-file", sent, url];
        await run("curl", [...upload, "--next", ...options, "--output", received, url], { timeout: callMs });
        assert.ok((await readFile(received)).equals(await readFile(sent)), `round ${round}`);
      }
      const { stdout } = await run("curl", [...options, new URL(".", url).href], { timeout: callMs });
      assert.match(stdout, / 100000 .* curl\.bin/);
    });

    test(`Python's ftplib works ${rounds} of ${rounds} times, ${how}`, { skip: missing("python3") }, async () => {
      const login = [String(node.ports.ftpPort), "a.example", password, tls ? "tls" : "clear", String(rounds)];
      await run("python3", ["-c", pythonClient, ...login], { timeout: callMs });
    });

    test(`basic-ftp works ${rounds} of ${rounds} times, ${how}`, async () => {
      for (let round = 0; round < rounds; round += 1) {
        const content = Buffer.alloc(bytes, round);
        const client = new Client(callMs);
        const login = { host: "127.0.0.1", port: node.ports.ftpPort, user: "a.example", password };
        await client.access({ ...login, secure: tls, secureOptions: { rejectUnauthorized: false } });
        await client.uploadFrom(Readable.from([content]), "/www/basic.bin");
        const received: Buffer[] = [];
        const target = new Writable({
          write: (chunk: Buffer, _encoding, done) => {
            received.push(chunk);
            done();
          },
        });
        await client.downloadTo(target, "/www/basic.bin");
        assert.ok(Buffer.concat(received).equals(content), `round ${round}`);
        client.close();
      }
    });

    test(`wget downloads ${rounds} of ${rounds} times, ${how}`, { skip: missing("wget") }, async () => {
      const content = Buffer.alloc(bytes, "w");
      await writeFile(join(node.dataDir, "homes/1/www/wget.bin"), content);
      const url = ftpUrl("/www/wget.bin").replace("ftp:", tls ? "ftps:" : "ftp:");
      const received = join(folder, "wget.bin");
      const options = [
        "--quiet",
        "--no-check-certificate",
        "--tries=1",
        `--ftp-user=a.example`,
        `--ftp-password=${password}`,
      ];
      for (let round = 0; round < rounds; round += 1) {
        await run("wget", [...options, `--output-document=${received}`, url], { timeout: callMs });
        assert.ok((await readFile(received)).equals(content), `round ${round}`);
        await rm(received);
      }
    });

    test(`lftp mirrors a tree there and back over four sessions, ${how}`, { skip: missing("lftp") }, async () => {
      const [source, copy] = [join(folder, `source-${tls}`), join(folder, `copy-${tls}`)];
      const names = ["index.html", "a/b/c/deep.txt", "a/empty", "with space/gr\u00fc\u00df.txt", "a/b/#1 %20.txt"];
      for (let number = 0; number < 40; number += 1) names.push(`many/${number}.txt`);
      for (const name of names) {
        await mkdir(dirname(join(source, name)), { recursive: true });
        await writeFile(join(source, name), name.repeat(name === "a/empty" ? 0 : 100));
      }
      // Modes and times are refused here, as everywhere: no-perms is what lftp calls it.
      const commands = [
        "ssl:verify-certificate no",
        `ftp:ssl-allow ${tls}`,
        `ftp:ssl-force ${tls}`,
        "ftp:ssl-protect-data true",
        "net:max-retries 2",
        "cmd:fail-exit true",
      ].map((setting) => `set ${setting}`);
      commands.push(`open -u "a.example,${password}" ${ftpUrl("")}`);
      commands.push(`mirror --reverse --parallel=4 --no-perms "${source}" /www/tree-${tls}`);
      commands.push(`mirror --parallel=4 --no-perms /www/tree-${tls} "${copy}"`);
      await run("lftp", ["--norc", "-c", commands.join("; ")], {
        timeout: callMs,
        env: { ...process.env, LC_ALL: "C.UTF-8" },
      });
      const filesOf = async (root: string) => {
        const entries = await readdir(root, { recursive: true, withFileTypes: true });
        const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
        return Promise.all(
          files.toSorted().map(async (path) => [path.slice(root.length), await readFile(path, "utf8")]),
        );
      };
      assert.deepEqual(await filesOf(copy), await filesOf(source));
      assert.equal((await filesOf(source)).length, names.length);
    });
  }
});
