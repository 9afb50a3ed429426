import assert from "node:assert/strict";
import { link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { useFtpStage } from "#nodes/embedded/ftp/test-stage.ts";

describe("FTP abuse of paths", () => {
  const stage = useFtpStage();

  test("abuse 9: no path leads out of the account", async () => {
    const { client } = await stage.make();
    for (const path of ["../../..", "/..", "/www/../..", "www/./../../.."]) {
      assert.equal((await client.send(`CWD ${path}`)).code, 250, path);
      assert.match((await client.send("PWD")).text, /^"\/" /);
    }
    const files = ["/etc/passwd", "../../etc/passwd", "..\\..\\etc\\passwd", "/www/../../../etc/passwd", ".", "~root"];
    for (const path of [
      ...files,
      "file:///etc/passwd",
      "%2e%2e/%2e%2e/etc/passwd",
      "/proc/self/environ",
      "//etc/passwd",
    ]) {
      const { reply, content } = await client.receive(`RETR ${path}`);
      assert.deepEqual({ code: reply.code, content }, { code: 550, content: "" }, path);
    }
    assert.equal((await client.store("../../x.txt", "x")).code, 550);
    assert.equal((await client.send("CWD ..\\..")).code, 550);
    assert.equal((await client.send(`CWD ${"a/".repeat(1_000)}`)).code, 550);
    client.close();
  });

  test("abuse 9: no answer tells a path of the machine", async () => {
    const { client, docroot } = await stage.make();
    await rm(docroot, { recursive: true });
    for (const command of ["CWD /www", "SIZE /www/a", "MKD /www/a", "LIST /www", "RNFR /www/a", "DELE /www/a", "PWD"]) {
      const { text } = await client.send(command);
      assert.ok(!text.includes(stage.node.dataDir) && !text.includes("ENOENT"), text);
    }
    client.close();
  });

  test("abuse 10: a symlink is not followed by any command, wherever it is in the path", async () => {
    const neighbour = await stage.make();
    await neighbour.client.store("/www/secret.txt", "secret");
    const { client, docroot } = await stage.make();
    await symlink(neighbour.docroot, join(docroot, "folder"));
    await symlink(join(neighbour.docroot, "secret.txt"), join(docroot, "file.txt"));
    await symlink("/etc/passwd", join(docroot, "passwd"));
    for (const path of ["/www/folder/secret.txt", "/www/file.txt", "/www/passwd"]) {
      for (const command of ["RETR", "SIZE", "MDTM", "MLST", "DELE", "RNFR", "LIST", "NLST", "MLSD"]) {
        assert.equal((await client.send(`${command} ${path}`)).code, 550, `${command} ${path}`);
      }
      assert.equal((await client.store(path, "overwritten")).code, 550);
    }
    for (const command of ["CWD /www/folder", "MKD /www/folder/new", "RMD /www/folder"]) {
      assert.equal((await client.send(command)).code, 550, command);
    }
    assert.equal((await client.receive("MLSD /www")).content, "");
    await client.store("/www/mine.txt", "mine");
    await client.send("RNFR /www/mine.txt");
    assert.equal((await client.send("RNTO /www/folder/secret.txt")).code, 550);
    assert.equal(await readFile(join(neighbour.docroot, "secret.txt"), "utf8"), "secret");
    client.close();
    neighbour.client.close();
  });

  test("abuse 10: no FTP command makes a link", async () => {
    const { client } = await stage.make();
    for (const command of [
      "SITE SYMLINK /etc /www/a",
      "SITE LINK /etc /www/a",
      "LN /etc /www/a",
      "SITE CPFR /etc/passwd",
    ]) {
      assert.equal((await client.send(command)).code, 502, command);
    }
    client.close();
  });

  test("abuse 20: the server sets no mode, owner or time, and makes nothing executable", async () => {
    const { client, docroot } = await stage.make();
    await client.store("/www/a.txt", "a");
    const refused = ["SITE CHMOD 4777 /www/a.txt", "SITE CHGRP root /www/a.txt", "SITE EXEC id", "SITE UMASK 000"];
    refused.push("MFF UNIX.mode=4777; /www/a.txt", "MFMT 20200101000000 /www/a.txt", "MFCT 20200101000000 /www/a.txt");
    for (const command of refused) assert.equal((await client.send(command)).code, 502, command);
    assert.equal((await stat(join(docroot, "a.txt"))).mode & 0o7137, 0);
    client.close();
  });

  test("abuse 26: the home and its www cannot be changed, and nothing can be put beside www", async () => {
    const { client, docroot } = await stage.make();
    const commands = [
      "DELE /www",
      "RMD /www",
      "RMD /www/.",
      "RMD /www/x/..",
      "RNFR /www",
      "RMD /",
      "MKD /new",
      "RNFR /",
    ];
    for (const command of [...commands, "MKD /www", "DELE /", "MKD /www/../new"]) {
      assert.equal((await client.send(command)).code, 550, command);
    }
    assert.equal((await client.store("/index.html", "x")).code, 550);
    assert.equal((await client.store("/www/../index.html", "x")).code, 550);
    await client.store("/www/a.txt", "a");
    for (const target of ["/suspended", "/www", "/", "/www/../b.txt"]) {
      assert.equal((await client.send("RNFR /www/a.txt")).code, 350);
      assert.equal((await client.send(`RNTO ${target}`)).code, 550, target);
    }
    assert.deepEqual(await readdir(join(docroot, "..")), ["www"]);
    client.close();
  });

  test("a folder is not moved into itself, nor onto anything", async () => {
    const { client } = await stage.make();
    for (const path of ["/www/a", "/www/a/b", "/www/c"]) await client.send(`MKD ${path}`);
    for (const [from, to] of [
      ["/www/a", "/www/a/b/a"],
      ["/www/a", "/www/c"],
      ["/www/a", "/www/missing/a"],
    ]) {
      assert.equal((await client.send(`RNFR ${from}`)).code, 350);
      assert.equal((await client.send(`RNTO ${to}`)).code, 550, to);
    }
    client.close();
  });

  test("folders cannot be moved deeper than a path can name", async () => {
    const { client } = await stage.make();
    const name = (letter: string) => letter.repeat(250);
    const outer = ["a", "b"].map(name);
    const inner = ["c", "d", "e", "f"].map(name);
    for (const names of [outer, inner]) {
      for (const end of names.keys()) await client.send(`MKD /www/${names.slice(0, end + 1).join("/")}`);
    }
    assert.equal((await client.send(`RNFR /www/${inner[0]}`)).code, 350);
    assert.equal((await client.send(`RNTO /www/${outer.join("/")}/c`)).code, 550);
    assert.equal((await client.send(`RNFR /www/${inner[0]}`)).code, 350);
    assert.equal((await client.send(`RNTO /www/${outer[0]}/c`)).code, 250);
    client.close();
  });

  test("a folder is no file, a full folder cannot be removed, and a missing one cannot be entered", async () => {
    const { client, docroot } = await stage.make();
    await mkdir(join(docroot, "folder"));
    await writeFile(join(docroot, "folder", "a.txt"), "a");
    for (const command of ["DELE /www/folder", "RMD /www/folder", "RMD /www/folder/a.txt", "SIZE /www/folder"]) {
      assert.equal((await client.send(command)).code, 550, command);
    }
    assert.equal((await client.store("/www/folder", "x")).code, 550);
    assert.equal((await client.store("/www/folder/a.txt/b.txt", "x")).code, 550);
    assert.equal((await client.store("/www/missing/b.txt", "x")).code, 550);
    await rm(docroot, { recursive: true });
    assert.equal((await client.send("CWD /www")).code, 550);
    client.close();
  });

  test("a line that is no UTF-8, or has a control character, is refused", async () => {
    const { client } = await stage.make();
    client.write(Buffer.from("MKD /www/\xe9\r\n", "latin1"));
    assert.equal((await client.reply()).code, 501);
    assert.equal((await client.send("MKD /www/a\0b")).code, 501);
    for (const character of ["\u0007", "\u001b", "\u007f", "\\", "\r"]) {
      assert.equal((await client.send(`MKD /www/a${character}b`)).code, 550);
    }
    assert.equal((await client.send(`MKD /www/${"x".repeat(256)}`)).code, 550);
    client.close();
  });

  test("replacing a file leaves another name of it as it was", async () => {
    const { client, docroot } = await stage.make();
    await client.store("/www/a.txt", "old");
    await link(join(docroot, "a.txt"), join(stage.node.dataDir, "elsewhere.txt"));
    assert.equal((await client.store("/www/a.txt", "new")).code, 226);
    assert.equal(await readFile(join(stage.node.dataDir, "elsewhere.txt"), "utf8"), "old");
    client.close();
  });
});
