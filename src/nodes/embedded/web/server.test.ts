import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, truncate, utimes, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { changeAccount, testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";
import { getPage } from "#nodes/test-page.ts";

describe("a site", () => {
  let node: TestNode;
  let docroot: string;
  before(async () => {
    node = await startTestNode();
    await node.driver.ensureAccount(testAccount("a.example", 1, { hostNames: ["a.example"] }));
    await node.driver.ensureAccount(testAccount("b.example", 2, { hostNames: ["b.example"] }));
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

  test("a client that already has the page gets 304", async () => {
    const { etag, "last-modified": modified } = (await get("/")).headers;
    assert.equal((await get("/", { "if-none-match": `"x", W/${etag}` })).status, 304);
    assert.equal((await get("/", { "if-none-match": "*" })).status, 304);
    assert.equal((await get("/", { "if-none-match": '"x"' })).status, 200);
    assert.equal((await get("/", { "if-modified-since": String(modified) })).status, 304);
    const since = { "if-modified-since": String(modified) };
    assert.equal((await get("/", { "if-none-match": '"x"', ...since })).status, 200);
    assert.equal((await get("/", { "if-modified-since": new Date(0).toUTCString() })).status, 200);
    assert.equal((await get("/", { "if-modified-since": "yesterday" })).status, 200);
    assert.equal((await get("/", since, "HEAD")).status, 304);
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
      [`bytes=${"0-0,".repeat(1_000)}1-1`, 200, "0123456789", undefined],
      ["bytes=99999999999999999999-", 200, "0123456789", undefined],
      ["BYTES=0-0", 206, "0", "bytes 0-0/10"],
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
    const { "last-modified": modified } = (await get("/digits.txt")).headers;
    assert.equal((await get("/digits.txt", { range: "bytes=0-0", "if-range": String(modified) })).status, 206);
    assert.equal((await get("/digits.txt", { range: "bytes=0-0", "if-range": new Date(0).toUTCString() })).status, 200);
    assert.equal((await get("/digits.txt", { range: "bytes=0-0", "if-range": `W/${etag}` })).status, 200);
    const head = await get("/digits.txt", { range: "bytes=0-0" }, "HEAD");
    assert.deepEqual([head.status, head.headers["content-length"]], [200, "10"]);
  });

  test("a range of a file beyond 4 GiB is sent from there", async () => {
    const path = join(docroot, "sparse.bin");
    const size = 5 * 1024 ** 3;
    await writeFile(path, "");
    await truncate(path, size);
    const { status, body, headers } = await get("/sparse.bin", { range: `bytes=${size - 3}-` });
    assert.deepEqual([status, body], [206, "\0\0\0"]);
    assert.equal(headers["content-range"], `bytes ${size - 3}-${size - 1}/${size}`);
    assert.equal((await get("/sparse.bin", {}, "HEAD")).headers["content-length"], String(size));
    await truncate(path, 0);
  });

  test("types follow the extension, and texts have a charset", async () => {
    const types = {
      "a.HTML": "text/html; charset=utf-8",
      "a.css": "text/css; charset=utf-8",
      "a.js": "text/javascript; charset=utf-8",
      "a.txt": "text/plain; charset=utf-8",
      "a.json": "application/json",
      "a.svg": "image/svg+xml",
      "a.woff2": "font/woff2",
      "a.php": "application/octet-stream",
      "a.html.exe": "application/octet-stream",
      a: "application/octet-stream",
    };
    for (const [name, type] of Object.entries(types)) {
      await writeFile(join(docroot, name), "x");
      assert.equal((await get(`/${name}`)).headers["content-type"], type, name);
    }
  });

  test("names are decoded once, as UTF-8", async () => {
    await writeFile(join(docroot, "gr\u00fc\u00df e.txt"), "greeting");
    await writeFile(join(docroot, "100%.txt"), "percent");
    assert.equal((await get("/gr%C3%BC%C3%9F%20e.txt")).body, "greeting");
    assert.equal((await get("/100%25.txt?x=%")).body, "percent");
    for (const path of ["/100%2525.txt", "/100%.txt", "/gr%FC%DF%20e.txt", "/digits%00.txt", "/digits.txt%00"]) {
      assert.equal((await get(path)).status, 404, path);
    }
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

  test("a suspended site answers 503 to everything", async () => {
    await changeAccount(node.driver, "b.example", { suspended: true });
    for (const path of ["/", "/missing", "/.env"]) assert.equal((await get(path, { host: "b.example" })).status, 503);
    await changeAccount(node.driver, "b.example", { suspended: false });
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
