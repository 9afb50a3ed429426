import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readlink, symlink, truncate, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { noSiteText } from "#nodes/probe.ts";
import { testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";
import { getPage } from "#nodes/test-page.ts";

const largeBytes = 50_000_000;
const pollMs = 10;

describe("abuse of the web port", () => {
  let node: TestNode;
  let docroot: string;
  before(async () => {
    node = await startTestNode({ limits: { webAddressConnectionsMax: 20 } });
    await node.driver.ensureAccount(testAccount("a.example", 1, { hostNames: ["a.example", "www.customer.example"] }));
    await node.driver.ensureAccount(testAccount("b.example", 2, { hostNames: ["b.example"] }));
    docroot = join(node.dataDir, "homes/1/www");
    await writeFile(join(docroot, "index.html"), "home of a");
    await writeFile(join(docroot, "digits.txt"), "0123456789");
    await writeFile(join(docroot, "large.bin"), "");
    await truncate(join(docroot, "large.bin"), largeBytes);
    await writeFile(join(node.dataDir, "homes/2/www/index.html"), "home of b");
  });
  after(() => node.close());

  const get = (path: string, headers: Record<string, string> = {}) =>
    getPage(node.ports.webPort, path, { host: "a.example", ...headers });
  const open = async ({ port = node.ports.webPort, localAddress = "127.0.0.1" } = {}): Promise<Socket> => {
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()));
  /** How many times the node, which runs in this process, has the large file open. */
  const largeFilesOpen = async () => {
    const folder = `/proc/${process.pid}/fd`;
    const names = await readdir(folder);
    const targets = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => "")));
    return targets.filter((target) => target.endsWith("large.bin")).length;
  };
  /** Sends text as it is, and reads until the server closes. */
  const sendRaw = async (text: string) => {
    const socket = await open();
    let answer = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      answer += piece;
    });
    socket.write(text, "latin1");
    await closed(socket);
    return answer;
  };

  test("abuse 10: a symlink is not followed, wherever it is in the path, and no pipe is opened", async () => {
    await symlink(join(node.dataDir, "homes/2/www"), join(docroot, "neighbour"));
    await symlink("/etc/passwd", join(docroot, "passwd.txt"));
    await symlink("digits.txt", join(docroot, "own.txt"));
    await mkdir(join(docroot, "folder"));
    await symlink("../../../2/www/index.html", join(docroot, "folder/index.html"));
    execFileSync("mkfifo", [join(docroot, "pipe")]);
    const paths = [
      "/neighbour/",
      "/neighbour/index.html",
      "/neighbour",
      "/passwd.txt",
      "/own.txt",
      "/pipe",
      "/folder/",
    ];
    for (const path of paths) assert.equal((await get(path)).status, 404, path);
  });

  test("abuse 23: a host name without a site is our own 404, never a neighbour's or a default page", async () => {
    const hosts = [
      "c.example",
      "localhost",
      "www.a.example",
      "a.example.localhost.localhost",
      "127.0.0.1",
      "1",
      "example",
    ];
    for (const host of [...hosts, "customer.example", "www.customer.example.localhost", "xa.example", "a.example.x"]) {
      const { status, body } = await get("/", { host });
      assert.deepEqual({ status, body }, { status: 404, body: `${noSiteText}\n` }, host);
    }
  });

  test("abuse 23: a site answers at its names in any case, with port and trailing dot", async () => {
    const hosts = [
      "A.Example.LOCALHOST",
      "a.example.",
      "a.example.:80",
      "WWW.customer.example",
      "www.customer.example.:1",
    ];
    for (const host of hosts) assert.equal((await get("/", { host })).body, "home of a", host);
  });

  test("abuse 23: a host name that is none, missing or twice is refused", async () => {
    const hosts = [
      "../x",
      "a.example/..",
      "a_b",
      "-a",
      "[::1]",
      "a..b",
      "a.example..",
      "a.example:port",
      "a.example:80:80",
    ];
    for (const host of [...hosts, "a.example@b.example", "a.example b.example", "x".repeat(300), ".", "a.example%00"]) {
      assert.equal((await get("/", { host })).status, 400, host);
    }
    for (const head of [
      "GET / HTTP/1.0",
      "GET / HTTP/1.1\r\nConnection: close",
      "GET / HTTP/1.1\r\nHost:\r\nConnection: close",
      "GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\nConnection: close",
      "GET / HTTP/1.1\r\nHost: a.example\0\r\nConnection: close",
      "GET / HTTP/1.1\r\nHost : a.example\r\nConnection: close",
    ]) {
      assert.match(await sendRaw(`${head}\r\n\r\n`), /^HTTP\/1.1 400 /, head);
    }
  });

  test("abuse 23: a target that names another host is not followed there", async () => {
    for (const target of ["http://b.example/", "//b.example/", "b.example:80", "*", "http://a.example/index.html"]) {
      const answer = await sendRaw(`GET ${target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`);
      assert.match(answer, /^HTTP\/1.1 40[04] /, target);
      assert.ok(!answer.includes("home of b"));
    }
  });

  test("abuse 24: the platform's own names are refused as identifier and as host name", async () => {
    for (const name of ["localhost", "b.localhost", "a.example.localhost"]) {
      await assert.rejects(node.driver.ensureAccount(testAccount(name, 3)), { reason: "invalid" });
      const account = testAccount("c.example", 3, { hostNames: [name] });
      await assert.rejects(node.driver.ensureAccount(account), { reason: "invalid" });
    }
  });

  test("abuse 25: hidden files are not served, but /.well-known is", async () => {
    for (const folder of [".git", ".well-known", ".well-known/.git", "sub", "sub/.well-known"]) {
      await mkdir(join(docroot, folder));
      await writeFile(join(docroot, folder, "config"), "content");
    }
    for (const name of [".env", ".htaccess", ".suspended"]) await writeFile(join(docroot, name), "content");
    const hidden = ["/.git/config", "/.git", "/.git/", "/.env", "/.htaccess", "/%2eenv", "/.well-known/.git/config"];
    for (const path of [...hidden, "/.suspended", "/sub/.well-known/config", "/.well-known/../.env", "/./.env"]) {
      assert.equal((await get(path)).status, 404, path);
    }
    assert.equal((await get("/.well-known/config")).body, "content");
  });

  test("abuse 27: no answer lets a browser guess its type, or sets a cookie", async () => {
    await mkdir(join(docroot, "plain"));
    const { etag } = (await get("/")).headers;
    const cases: [number, string, Record<string, string>][] = [
      [200, "/", {}],
      [206, "/digits.txt", { range: "bytes=0-0" }],
      [301, "/plain", {}],
      [304, "/", { "if-none-match": String(etag) }],
      [400, "/", { host: "a_b" }],
      [404, "/missing", {}],
      [404, "/", { host: "c.example" }],
      [416, "/digits.txt", { range: "bytes=99-" }],
    ];
    for (const [status, path, headers] of cases) {
      const page = await get(path, headers);
      assert.equal(page.status, status, path);
      assert.equal(page.headers["x-content-type-options"], "nosniff");
      assert.equal(page.headers["set-cookie"], undefined);
    }
  });

  /** A node of little patience, with the same large file. */
  const withHastyNode = async (run: (port: number) => Promise<void>) => {
    const hasty = await startTestNode({ limits: { webHeadersMs: 300, webRequestMs: 600, webStallMs: 1_000 } });
    await hasty.driver.ensureAccount(testAccount("a.example", 1, { hostNames: ["a.example"] }));
    await writeFile(join(hasty.dataDir, "homes/1/www/large.bin"), "");
    await truncate(join(hasty.dataDir, "homes/1/www/large.bin"), largeBytes);
    await run(hasty.ports.webPort).finally(() => hasty.close());
  };

  test("a client that sends its headers slowly is answered 408", async () => {
    await withHastyNode(async (port) => {
      const socket = await open({ port });
      socket.write("GET / HTTP/1.1\r\nHost: a.example\r\n");
      const dripping = setInterval(() => socket.write("X-More: 1\r\n"), 20);
      const [answer] = await once(socket, "data");
      clearInterval(dripping);
      assert.match(String(answer), /^HTTP\/1.1 408 /);
      socket.destroy();
    });
  });

  test("a client that sends nothing, or reads nothing, is cut", async () => {
    await withHastyNode(async (port) => {
      const silent = await open({ port });
      const silentClosed = closed(silent.resume());
      const deaf = await open({ port });
      deaf.pause().write("GET /large.bin HTTP/1.1\r\nHost: a.example\r\n\r\n");
      // A paused socket does not notice its end, but the node closes the file that it sent.
      while ((await largeFilesOpen()) === 0) await sleep(pollMs);
      while ((await largeFilesOpen()) > 0) await sleep(pollMs);
      deaf.destroy();
      await silentClosed;
    });
  });

  test("one address has no more than its share of connections, and another still gets in", async () => {
    const sockets = await Promise.all(Array.from({ length: 30 }, () => open({ localAddress: "127.0.0.3" })));
    // Silent ones end too, later. The first ten to end are those too many.
    let ended = 0;
    await new Promise<void>((resolve) => {
      for (const socket of sockets) {
        socket.once("close", () => {
          ended += 1;
          if (ended === 10) resolve();
        });
      }
    });
    assert.equal((await get("/")).status, 200);
    for (const socket of sockets) socket.destroy();
  });

  test("four addresses with all idle connections that they get leave places for others", async () => {
    const limits = { webConnectionsMax: 40, webAddressConnectionsMax: 10, fewConnectionsMax: 4 };
    const other = await startTestNode({ limits });
    const port = other.ports.webPort;
    const addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"].flatMap((from) => Array(12).fill(from));
    const sockets = await Promise.all(addresses.map((localAddress) => open({ port, localAddress })));
    assert.equal((await getPage(port, "/", { host: "nobody.example" })).status, 404);
    for (const socket of sockets) socket.destroy();
    await other.close();
  });

  test("pipelined requests are answered in their order, each by its own host", async () => {
    const hosts = ["a.example", "b.example", "c.example", "a.example", "b.example"];
    const requests = hosts.map((host) => `GET / HTTP/1.1\r\nHost: ${host}\r\n`);
    const answer = await sendRaw(`${requests.join("\r\n")}Connection: close\r\n\r\n`);
    const pages = [...answer.matchAll(/home of .|There is no site/g)].map(([page]) => page);
    assert.deepEqual(pages, ["home of a", "home of b", "There is no site", "home of a", "home of b"]);
  });

  test("pipelined requests of a client that reads nothing open one file, not one each", async () => {
    const socket = await open();
    socket.pause().write("GET /large.bin HTTP/1.1\r\nHost: a.example\r\n\r\n".repeat(90));
    while ((await largeFilesOpen()) === 0) await sleep(pollMs);
    // Answers to another client prove that the node is running, and has had time to accept more connections.
    for (let round = 0; round < 5; round += 1) assert.equal((await get("/")).status, 200);
    assert.equal(await largeFilesOpen(), 1);
    socket.destroy();
  });

  test("serves others while one address pipelines a million requests to a site", async () => {
    const flood = Buffer.from("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".repeat(50_000));
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open({ localAddress: "127.0.0.3" })));
    for (const socket of sockets) socket.resume().write(flood);
    for (let round = 0; round < 20; round += 1) assert.equal((await get("/")).body, "home of a");
    // Each is served on in its turn, and none has had all of its turns yet.
    assert.equal(sockets.filter((socket) => socket.destroyed).length, 0);
    for (const socket of sockets) assert.ok(socket.bytesRead < 50_000 * 200);
    for (const socket of sockets) socket.destroy();
  });

  test("a client that ends its side behind its requests gets the pages", async () => {
    const socket = await open();
    const pages: Buffer[] = [];
    socket.on("data", (page) => pages.push(page));
    socket.end("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".repeat(3));
    await closed(socket);
    assert.equal(
      Buffer.concat(pages)
        .toString()
        .match(/home of a/g)?.length,
      3,
    );
  });

  test("headers too large, bodies and methods of other kinds are refused", async () => {
    const head = (method: string, more: string) =>
      `${method} / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n${more}`;
    assert.match(await sendRaw(head("GET", `X: ${"x".repeat(20_000)}\r\n\r\n`)), /^HTTP\/1.1 431 /);
    assert.match(await sendRaw(head("GET", "X: 1\r\n".repeat(4_000))), /^HTTP\/1.1 431 /);
    assert.match(await sendRaw(head("POST", "Content-Length: 5\r\n\r\nhello")), /^HTTP\/1.1 405 /);
    assert.match(await sendRaw(head("PUT", "Content-Length: 100000000000\r\n\r\nhello")), /^HTTP\/1.1 405 /);
    for (const method of ["DELETE", "OPTIONS", "TRACE", "PROPFIND"]) {
      assert.match(await sendRaw(head(method, "\r\n")), /^HTTP\/1.1 405 /, method);
    }
    assert.equal(await sendRaw(head("CONNECT", "\r\n")), "");
    const smuggled = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert.match(await sendRaw(head("POST", smuggled)), /^HTTP\/1.1 400 /);
  });

  test("nothing of all this is an error of the node's", () => {
    assert.equal(node.logged(), "");
  });
});
