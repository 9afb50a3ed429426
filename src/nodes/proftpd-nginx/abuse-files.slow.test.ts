/** The abuse cases of a customer who is logged in. By their numbers. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { lchown, link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { DesiredAccount } from "#nodes/driver.ts";
import { RawFtp } from "#nodes/proftpd-nginx/test-ftp.ts";
import { cannotStart, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { password, quickHash, testAccount } from "#nodes/test-account.ts";
import { getPage } from "#nodes/test-page.ts";

const run = promisify(execFile);
const options = { skip: cannotStart };
const isMissing = (program: string) => spawnSync(program, ["--version"]).error !== undefined;
const withCurl = { skip: cannotStart || (isMissing("curl") && "curl is not installed") };
const withPython = { skip: cannotStart || (isMissing("python3") && "python3 is not installed") };
const withLftp = { skip: cannotStart || (isMissing("lftp") && "lftp is not installed") };

const started = cannotStart ? undefined : await startTestProftpdNode();
after(() => started?.close());
const node = started as TestProftpdNode;
const files = await mkdtemp(join(tmpdir(), "deedhouse-uploads-"));
after(() => rm(files, { recursive: true }));

let uid = 201_000;
async function make(changes: Parameters<typeof testAccount>[2] = {}) {
  uid += 1;
  const account = testAccount(`site-${uid}.example`, uid, changes);
  await node.node.ensureAccount(account);
  const www = join(node.paths.homes, String(uid), "www");
  const page = (path: string) => getPage(node.web.port, path, { host: `${account.identifier}.sites.test` });
  const login = () => RawFtp.login(node, account.identifier, password);
  return { ...account, www, page, login };
}

/** Uploads as a customer's script does; @returns the server's last reply to it. */
async function curl(user: string, file: string, path: string, more: string[] = []): Promise<string> {
  const url = `ftp://${node.ftp.host}:${node.ftp.port}/www/${path}`;
  const login = ["--user", `${user}:${password}`, "--ssl-reqd", "--insecure"];
  const { stderr } = await run("curl", ["-sSv", ...login, ...more, "-T", file, url]).catch((error) => error);
  return /.*^< (\d{3}[ -].*)$/ms.exec(stderr.split("> QUIT")[0])?.[1] ?? stderr;
}

async function fileOf(bytes: number): Promise<string> {
  const path = join(files, `${bytes}.bin`);
  await writeFile(path, Buffer.alloc(bytes, "x"));
  return path;
}

test("abuse 9: nobody leaves the home by CWD, RETR, or backslashes", options, async () => {
  const { login } = await make();
  const client = await login();
  for (const path of ["../../..", "/../..", "..\\..", "/", "%2e%2e"]) {
    await client.ask(`CWD ${path}`);
    assert.match(await client.ask("PWD"), /^257 "\/"/, path);
  }
  for (const path of ["/etc/passwd", "../../etc/passwd", "..\\..\\etc\\passwd", "/proc/self/environ"]) {
    assert.match(await client.ask(`SIZE ${path}`), /^550 /, path);
    assert.match(await client.ask(`RETR ${path}`), /^550 /, path);
  }
  client.close();
});

test("abuse 10: a link out of the home or to a neighbour shows nothing, by HTTP or FTP", options, async () => {
  const neighbour = await make();
  const { www, page, login, uid: owner } = await make();
  await writeFile(join(neighbour.www, "secret.txt"), "secret");
  await writeFile(join(www, "own.txt"), "own");
  const links = { passwd: "/etc/passwd", neighbour: join(neighbour.www, "secret.txt"), up: "../..", own: "own.txt" };
  for (const [name, target] of Object.entries(links)) {
    await symlink(target, join(www, name));
    await lchown(join(www, name), owner, owner);
    // One that root has made is no better.
    await symlink(target, join(www, `root-${name}`));
  }
  const client = await login();
  for (const name of Object.keys(links).flatMap((link) => [link, `root-${link}`])) {
    for (const path of [`/${name}`, `/${name}/`, `/${name}/etc/passwd`])
      assert.equal((await page(path)).status, 404, path);
  }
  for (const name of ["passwd", "neighbour", "root-passwd", "root-neighbour"]) {
    assert.match(await client.ask(`RETR /www/${name}`), /^550 /, name);
  }
  client.close();
});

test("abuse 11: no data connection is opened to an address that a client names", options, async (t) => {
  const victim = createServer().listen(0, "127.0.0.1");
  t.after(() => victim.close());
  await once(victim, "listening");
  let connections = 0;
  victim.on("connection", () => (connections += 1));
  const { login } = await make();
  const client = await login();
  const { port } = victim.address() as { port: number };
  for (const line of [
    `PORT 127,0,0,1,${port >> 8},${port & 255}`,
    `EPRT |1|127.0.0.1|${port}|`,
    "PORT 192,0,2,1,0,25",
  ]) {
    assert.match(await client.ask(line), /^5/, line);
    assert.match(await client.ask("LIST"), /^[45]/, line);
  }
  assert.equal(connections, 0);
  client.close();
});

test("abuse 12: a session has one passive port, however often it asks", options, async () => {
  const { login } = await make();
  const client = await login();
  const ports: number[] = [];
  for (let count = 0; count < 120; count++) {
    ports.push(await client.passivePort());
  }
  const last = ports.at(-1);
  for (const port of new Set(ports)) {
    if (port === last) continue;
    const socket = connect(port, "127.0.0.1");
    const [error] = await once(socket, "error");
    assert.equal(error.code, "ECONNREFUSED", `passive port ${port} is still open`);
  }
  client.close();
});

test("abuse 17: an upload over quota is refused with 552 and leaves the old file as it was", options, async () => {
  const { www, login } = await make({ diskBytesMax: 100_000 });
  const client = await login();
  assert.match(await client.store("/www/a.bin", 60_000), /^226/);
  for (const name of ["b.bin", "a.bin"]) assert.match(await client.store(`/www/${name}`, 201_000), /^552/, name);
  client.close();
  assert.deepEqual(readdirSync(www), ["a.bin"]);
  assert.equal(lstatSync(join(www, "a.bin")).size, 60_000);
});

test("abuse 17: uploads at the same time stay within the quota, and those without room fail", options, async () => {
  const { www, login } = await make({ diskBytesMax: 100_000 });
  const clients = await Promise.all([1, 2, 3, 4].map(login));
  const answers = await Promise.all(clients.map((client, index) => client.store(`/www/${index}.bin`, 60_000)));
  for (const client of clients) client.close();
  const sizes = readdirSync(www).map((name) => lstatSync(join(www, name)).size);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 100_000, `${sizes}`);
  assert.equal(answers.filter((answer) => /^552|quota/.test(answer)).length, 4 - sizes.length, `${answers}`);
});

test(
  "abuse 17: a file that is overwritten and deleted again and again lends its space to nobody",
  options,
  async () => {
    const { www, login } = await make({ diskBytesMax: 100_000 });
    const client = await login();
    const clients = await Promise.all([1, 2, 3].map(login));
    const answers: string[] = [];
    for (const [index, held] of clients.entries()) {
      assert.match(await client.store("/www/a.bin", 90_000), /^226/);
      const data = await held.beginStore("/www/a.bin");
      if (typeof data === "string") assert.fail(data);
      data.write(Buffer.alloc(60_000, String(index)));
      // Refused as soon as it takes more than what is left beside the file.
      answers.push(await held.reply());
      assert.match(await client.ask("DELE /www/a.bin"), /^250/);
    }
    assert.ok(
      answers.every((answer) => answer.startsWith("552")),
      `${answers}`,
    );
    assert.deepEqual(readdirSync(www), []);
    for (const one of [client, ...clients]) one.close();
  },
);

test("abuse 18: nothing is appended, nothing begins in the middle", options, async () => {
  const { www, login } = await make();
  await writeFile(join(www, "a.txt"), "kept");
  const client = await login();
  await client.ask("EPSV");
  assert.match(await client.ask("APPE /www/a.txt"), /^5/);
  for (const offset of ["2", "1000000000000"]) assert.match(await client.ask(`REST ${offset}`), /^501 /);
  assert.match(await client.ask("ALLO 100000000000000"), /^[25]/);
  assert.equal(readFileSync(join(www, "a.txt"), "utf8"), "kept");
  client.close();
});

test("abuse 19: empty files and folders count, up to max_files", withCurl, async () => {
  const { identifier, www, login } = await make({ filesMax: 5, diskBytesMax: 10_000_000 });
  const empty = await fileOf(0);
  const answers: string[] = [];
  for (let count = 0; count < 7; count++) answers.push((await curl(identifier, empty, `${count}.txt`)).slice(0, 3));
  assert.deepEqual(answers, ["226", "226", "226", "226", "226", "552", "552"]);
  const client = await login();
  for (const name of ["x", "y"]) assert.match(await client.ask(`MKD /www/${name}`), /^552/);
  assert.equal(readdirSync(www).length, 5);
  client.close();
});

test("abuse 19: folders are as many as files may be", options, async () => {
  const { www, login } = await make({ filesMax: 5, diskBytesMax: 10_000_000 });
  const client = await login();
  const answers: string[] = [];
  for (let count = 0; count < 7; count++) answers.push((await client.ask(`MKD /www/${count}`)).slice(0, 3));
  assert.deepEqual(answers, ["257", "257", "257", "257", "257", "552", "552"]);
  assert.equal(readdirSync(www).length, 5);
  client.close();
});

test("abuse 20: modes and groups are not the customer's to change", options, async () => {
  const { www, login } = await make();
  await writeFile(join(www, "a.txt"), "a", { mode: 0o644 });
  await lchown(join(www, "a.txt"), uid, uid);
  const client = await login();
  for (const line of ["SITE CHMOD 4777 /www/a.txt", "MFF UNIX.mode=4777; /www/a.txt", "SITE CHGRP 0 /www/a.txt"]) {
    assert.match(await client.ask(line), /^5/, line);
  }
  const { mode, gid } = lstatSync(join(www, "a.txt"));
  assert.deepEqual([mode & 0o7777, gid], [0o644, uid]);
  client.close();
});

test(
  "abuse 21: a session is ended when its account is suspended, removed, or gets another password",
  options,
  async () => {
    const ends: ((account: DesiredAccount) => Promise<void>)[] = [
      (account) => node.node.ensureAccount({ ...account, suspended: true }),
      (account) => node.node.remove(account),
      (account) => node.node.ensureAccount({ ...account, passwordHash: quickHash("another") }),
    ];
    const bystander = await make();
    const other = await bystander.login();
    for (const end of ends) {
      const account = await make();
      const idle = await account.login();
      const busy = await account.login();
      const port = await busy.passivePort();
      const data = connect(port, "127.0.0.1");
      data.on("error", () => {});
      busy.send("STOR /www/growing.bin\r\n");
      await busy.reply();
      await end(account);
      await Promise.all([idle.closed(), busy.closed()]);
      data.destroy();
    }
    assert.match(await other.ask("NOOP"), /^200 /);
    other.close();
  },
);

test("abuse 21: who had begun to log in when the account is suspended gets in no more", options, async () => {
  const { login: _, ...account } = await make();
  const silent = await RawFtp.connect(node);
  const client = await RawFtp.secure(node);
  await client.ask(`USER ${account.identifier}`);
  await node.node.ensureAccount({ ...account, suspended: true });
  assert.match(client.isClosed ? "" : await client.ask(`PASS ${password}`), /^530 |^$/);
  for (const each of [silent, client]) each.close();
});

test(
  "abuse 22: an identifier that is made again is another uid and folder, and the old login opens nothing",
  options,
  async () => {
    const { login, page, www: _, ...old } = await make();
    const client = await login();
    await client.store("/www/old.txt", 3);
    client.close();
    await node.node.remove(old);
    uid += 1;
    await node.node.ensureAccount({ ...old, uid, passwordHash: quickHash("another") });
    await assert.rejects(login(), /^Error: 530 /);
    const again = await RawFtp.login(node, old.identifier, "another");
    assert.match(await again.ask("SIZE /www/old.txt"), /^550 /);
    again.close();
    assert.equal((await page("/old.txt")).status, 404);
  },
);

test("abuse 26: neither the marker nor www can be removed, renamed or made by FTP", options, async () => {
  const { login, page, ...account } = await make();
  const client = await login();
  for (const line of ["RMD /www", "DELE /.suspended", "MKD /x", "RNFR /www", "MKD /.suspended"]) {
    const answer = await client.ask(line);
    if (line.startsWith("RNFR")) assert.match(await client.ask("RNTO /old"), /^5/);
    else assert.match(answer, /^550 /, line);
  }
  client.close();
  await node.node.ensureAccount({ ...account, suspended: true });
  const ours = await node.node.oneTimeLogin(account);
  const inside = await RawFtp.login(node, ours.user, ours.password.reveal());
  assert.match(await inside.ask("DELE /.suspended"), /^550 /);
  await inside.ask("RNFR /.suspended");
  assert.match(await inside.ask("RNTO /www/old"), /^550 /);
  inside.close();
  assert.equal((await page("/")).status, 503);
});

test("Python's ftplib uploads and lists", withPython, async () => {
  const { identifier, www } = await make();
  const script = `
import ftplib, io, sys
ftp = ftplib.FTP_TLS()
ftp.connect("127.0.0.1", int(sys.argv[1]))
ftp.login(sys.argv[2], sys.argv[3])
ftp.prot_p()
ftp.storbinary("STOR /www/by-python.txt", io.BytesIO(b"sent by Python"))
print(ftp.nlst("/www"))
`;
  const { stdout } = await run("python3", ["-c", script, String(node.ftp.port), identifier, password]);
  assert.match(stdout, /by-python\.txt/);
  assert.equal(readFileSync(join(www, "by-python.txt"), "utf8"), "sent by Python");
});

test("lftp mirrors a folder with four sessions", withLftp, async () => {
  const { identifier, www } = await make();
  const source = join(files, "mirror");
  await mkdir(join(source, "sub"), { recursive: true });
  for (let count = 0; count < 12; count++) await writeFile(join(source, "sub", `${count}.txt`), String(count));
  await link(join(source, "sub", "0.txt"), join(source, "index.html"));
  const script = [
    "set ftp:ssl-force true; set ssl:verify-certificate false; set net:max-retries 2; set cmd:fail-exit true",
    `open -u '${identifier},${password}' ftp://${node.ftp.host}:${node.ftp.port}`,
    `mirror -R --no-perms --parallel=4 ${source} /www`,
  ].join("; ");
  await run("lftp", ["-c", script], { timeout: 60_000 });
  assert.equal(readdirSync(join(www, "sub")).length, 12);
});
