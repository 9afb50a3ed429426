import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { noSiteText } from "../../probe.ts";
import { getPage, startTestNode, type TestNode, testAccount } from "../test-node.ts";

describe("a site", () => {
  let node: TestNode;
  let docroot: string;
  before(async () => {
    node = await startTestNode();
    await node.driver.ensureAccount(testAccount("a.example", 1));
    await node.driver.ensureAccount(testAccount("b.example", 2));
    docroot = join(node.dataDir, "homes/1/www");
    await writeFile(join(docroot, "index.html"), "home of a");
    await writeFile(join(docroot, "digits.txt"), "0123456789");
    await writeFile(join(docroot, "empty.css"), "");
    await mkdir(join(docroot, "folder"));
    await writeFile(join(docroot, "folder/index.html"), "folder of a");
    await mkdir(join(docroot, "bare"));
    await writeFile(join(node.dataDir, "homes/2/www/index.html"), "home of b");
  });
  after(() => node.close());

  const get = (path: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" | "POST" = "GET") =>
    getPage(node.ports.webPort, path, { host: "a.example.localhost", ...headers }, method);

  /** For requests that no HTTP library sends. */
  const sendRaw = async (text: string) => {
    const socket = connect(node.ports.webPort, "127.0.0.1");
    socket.write(text);
    let answer = "";
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk;
    return answer;
  };

  test("answers at the platform's name and at its own, in any case, with port and trailing dot", async () => {
    const hosts = [
      "a.example.localhost",
      "a.example",
      "A.EXAMPLE.LocalHost",
      "a.example.",
      "a.example.localhost.:8080",
    ];
    for (const host of [...hosts, "a.example:80"]) assert.equal((await get("/", { host })).body, "home of a", host);
    assert.equal((await get("/", { host: "b.example" })).body, "home of b");
  });

  test("a host name without a site is our own 404, never a neighbour's page", async () => {
    for (const host of ["c.example", "localhost", "www.a.example", "a.example.localhost.localhost", "127.0.0.1", "1"]) {
      const { status, body } = await get("/", { host });
      assert.deepEqual({ status, body }, { status: 404, body: `${noSiteText}\n` }, host);
    }
  });

  test("a host name that is none, missing or twice is refused", async () => {
    for (const host of ["../x", "a.example/..", "a_b", "-a", "[::1]", "a..b", "x".repeat(300)]) {
      assert.equal((await get("/", { host })).status, 400, host);
    }
    assert.match(await sendRaw("GET / HTTP/1.0\r\n\r\n"), / 400 /);
    assert.match(await sendRaw("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), / 400 /);
    assert.match(await sendRaw("GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"), / 400 /);
    assert.match(
      await sendRaw("GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\nConnection: close\r\n\r\n"),
      / 400 /,
    );
  });

  test("pages carry their type, validators and nosniff; HEAD carries no body", async () => {
    const page = await get("/");
    assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
    assert.equal(page.headers["x-content-type-options"], "nosniff");
    assert.equal((await get("/empty.css")).headers["content-type"], "text/css; charset=utf-8");
    assert.equal((await get("/missing")).headers["x-content-type-options"], "nosniff");
    const head = await get("/", {}, "HEAD");
    assert.deepEqual([head.status, head.body, head.headers["content-length"]], [200, "", "9"]);
    assert.equal((await get("/", {}, "POST")).status, 405);
  });

  test("a client that has the page already is told so", async () => {
    const { etag, "last-modified": modified } = (await get("/")).headers;
    assert.equal((await get("/", { "if-none-match": `"x", W/${etag}` })).status, 304);
    assert.equal((await get("/", { "if-none-match": "*" })).status, 304);
    assert.equal((await get("/", { "if-none-match": '"x"' })).status, 200);
    assert.equal((await get("/", { "if-modified-since": String(modified) })).status, 304);
    await utimes(join(docroot, "index.html"), 1, 1);
    assert.equal((await get("/", { "if-none-match": String(etag) })).status, 200);
  });

  test("one range is sent as asked", async () => {
    const cases: [string, number, string, string | undefined][] = [
      ["bytes=2-4", 206, "234", "bytes 2-4/10"],
      ["bytes=7-", 206, "789", "bytes 7-9/10"],
      ["bytes=-2", 206, "89", "bytes 8-9/10"],
      ["bytes=-99", 206, "0123456789", "bytes 0-9/10"],
      ["bytes=5-99", 206, "56789", "bytes 5-9/10"],
      ["bytes=10-", 416, "This page is shorter.\n", "bytes */10"],
      ["bytes=-0", 416, "This page is shorter.\n", "bytes */10"],
      ["bytes=4-2", 200, "0123456789", undefined],
      ["bytes=0-1,3-4", 200, "0123456789", undefined],
      ["bytes=-", 200, "0123456789", undefined],
      ["lines=1-2", 200, "0123456789", undefined],
    ];
    for (const [range, status, body, contentRange] of cases) {
      const page = await get("/digits.txt", { range });
      assert.deepEqual([page.status, page.body, page.headers["content-range"]], [status, body, contentRange], range);
    }
    const { etag } = (await get("/digits.txt")).headers;
    assert.equal((await get("/digits.txt", { range: "bytes=0-0", "if-range": String(etag) })).status, 206);
    assert.equal((await get("/digits.txt", { range: "bytes=0-0", "if-range": '"old"' })).status, 200);
    assert.equal((await get("/empty.css", { range: "bytes=0-" })).status, 416);
  });

  test("a folder redirects to its slash and is never listed", async () => {
    const redirect = await get("/folder?a=1");
    assert.deepEqual([redirect.status, redirect.headers.location], [301, "/folder/?a=1"]);
    assert.equal((await get("/folder/")).body, "folder of a");
    for (const path of ["/bare/", "/digits.txt/", "/missing/", "/digits.txt/x"]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  test("no path leads out of the site, nor a redirect to another", async () => {
    const paths = ["/../../2/www/index.html", "/%2e%2e/%2e%2e/2/www/index.html", "/..%2f..%2f2/www/index.html"];
    paths.push("//folder", "//evil.example/..", "/folder//", "/%00", "/a%5cb", "/%ff", "/%", "/./index.html");
    for (const path of paths) assert.equal((await get(path)).status, 404, path);
    assert.match(
      await sendRaw("GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"),
      / 404 /,
    );
  });

  test("hidden files are not served, but /.well-known is", async () => {
    for (const folder of [".git", ".well-known", ".well-known/.git", "folder/.well-known"]) {
      await mkdir(join(docroot, folder));
      await writeFile(join(docroot, folder, "file"), "content");
    }
    for (const name of [".env", ".htaccess"]) await writeFile(join(docroot, name), "content");
    const hidden = ["/.git/file", "/.git", "/.env", "/.htaccess", "/%2eenv", "/.well-known/.git/file"];
    for (const path of [...hidden, "/folder/.well-known/file"]) assert.equal((await get(path)).status, 404, path);
    assert.equal((await get("/.well-known/file")).body, "content");
  });

  test("a symlink is not followed, wherever it is in the path, and no pipe is opened", async () => {
    await symlink(join(node.dataDir, "homes/2/www"), join(docroot, "neighbour"));
    await symlink("/etc/passwd", join(docroot, "passwd.txt"));
    await symlink("digits.txt", join(docroot, "own.txt"));
    execFileSync("mkfifo", [join(docroot, "pipe")]);
    for (const path of ["/neighbour/", "/neighbour/index.html", "/neighbour", "/passwd.txt", "/own.txt", "/pipe"]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  test("a suspended site answers 503 to everything", async () => {
    await node.driver.suspend({ identifier: "b.example", uid: 2 });
    for (const path of ["/", "/missing", "/.env"]) assert.equal((await get(path, { host: "b.example" })).status, 503);
    await node.driver.resume({ identifier: "b.example", uid: 2 });
    assert.equal((await get("/", { host: "b.example" })).status, 200);
  });

  test("a client that goes away in the middle of a page leaves no error behind", async () => {
    await writeFile(join(docroot, "big.bin"), Buffer.alloc(20_000_000));
    const socket = connect(node.ports.webPort, "127.0.0.1");
    socket.write("GET /big.bin HTTP/1.1\r\nHost: a.example\r\n\r\n");
    await once(socket, "data");
    socket.destroy();
    assert.equal((await get("/")).status, 200);
    assert.equal(node.logged(), "");
  });
});
