import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { password, startTestNode, type TestNode, testAccount } from "../test-node.ts";

const run = promisify(execFile);
const callMs = 20_000;

/** A reason to skip, or false. */
function missing(program: string): string | false {
  return spawnSync(program, ["--version"]).error === undefined ? false : `${program} is not installed`;
}

const pythonClient = `
import ftplib, io, ssl, sys
port, user, password, secure = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "tls"
if secure:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    ftp = ftplib.FTP_TLS(context=context)
else:
    ftp = ftplib.FTP()
ftp.connect("127.0.0.1", port, timeout=10)
ftp.login(user, password)
if secure: ftp.prot_p()
ftp.cwd("/www")
content = bytes(range(256)) * 4096
for number in range(5):
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
    await node.driver.ensureAccount(testAccount("a.example", 1, { diskBytesMax: 50_000_000 }));
  });
  after(async () => {
    await node.close();
    await rm(folder, { recursive: true });
  });

  for (const tls of [false, true]) {
    const how = tls ? "over TLS" : "in clear";

    test(`curl uploads and downloads every time, ${how}`, { skip: missing("curl") }, async () => {
      const options = ["--silent", "--show-error", "--fail", "--max-time", "10", "--user", `a.example:${password}`];
      if (tls) options.push("--ssl-reqd", "--insecure");
      const url = `ftp://127.0.0.1:${node.ports.ftpPort}/www/folder/curl.bin`;
      const [sent, received] = [join(folder, "sent"), join(folder, "received")];
      for (let round = 0; round < 5; round += 1) {
        await writeFile(sent, Buffer.alloc(1_000_000, round));
        await run("curl", [...options, "--ftp-create-dirs", "--upload-file", sent, url], { timeout: callMs });
        await run("curl", [...options, "--output", received, url], { timeout: callMs });
        assert.ok((await readFile(received)).equals(await readFile(sent)));
      }
      const { stdout } = await run("curl", [...options, new URL(".", url).href], { timeout: callMs });
      assert.match(stdout, / 1000000 .* curl\.bin/);
    });

    test(`Python's ftplib uploads, downloads and lists, ${how}`, { skip: missing("python3") }, async () => {
      const mode = tls ? "tls" : "clear";
      const options = ["-c", pythonClient, String(node.ports.ftpPort), "a.example", password, mode];
      await run("python3", options, { timeout: callMs });
    });
  }
});
