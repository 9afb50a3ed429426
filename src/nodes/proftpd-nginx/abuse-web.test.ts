/** The abuse cases of a site's visitors. By their numbers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { noSiteText } from "#nodes/probe.ts";
import { renderNginxConf } from "#nodes/proftpd-nginx/nginx-conf.ts";
import { cannotStart, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { testAccount } from "#nodes/test-account.ts";
import { getPage } from "#nodes/test-page.ts";

const options = { skip: cannotStart };
const started = cannotStart ? undefined : await startTestProftpdNode();
after(() => started?.close());
const node = started as TestProftpdNode;
const account = testAccount("first.example", 203_001, { hostNames: ["www.customer.example"] });
await started?.node.ensureAccount(account);
const www = cannotStart ? "" : join(node.paths.homes, "203001", "www");
if (!cannotStart) await writeFile(join(www, "index.html"), "the site");

const page = (host: string, path = "/") => getPage(node.web.port, path, { host });

/** What the server answers to these bytes. */
async function answerTo(request: string): Promise<string> {
  const socket = connect(node.web);
  let text = "";
  socket.on("data", (data) => (text += data));
  socket.write(request);
  await once(socket, "close");
  return text;
}

test("abuse 23: a host name in any spelling is the right site's", options, async () => {
  for (const host of [
    "first.example.sites.test",
    "FIRST.example.SITES.test",
    "first.example.sites.test.",
    "www.customer.example:80",
  ]) {
    const { status, body } = await page(host);
    assert.deepEqual([status, body], [200, "the site"], host);
  }
});

test(
  "abuse 23: any other host name is 400 or a 404 of ours, never a neighbour's or a default page",
  options,
  async () => {
    for (const host of [
      "first.example",
      "sites.test",
      "x.sites.test",
      ".sites.test",
      "203001",
      "..",
      "127.0.0.1",
      "_",
    ]) {
      const { status, body } = await page(host);
      assert.ok(status === 400 || (status === 404 && body.trim() === noSiteText), `${host}: ${status}`);
    }
    for (const host of ["../x", "a/b", "first.example.sites.test/..", "a\tb", "a%2fb"]) {
      const answer = await answerTo(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      assert.match(answer, /^HTTP\/1.1 40[04] /, host);
      assert.doesNotMatch(answer, /the site/, host);
    }
    assert.match(await answerTo("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), /^HTTP\/1.1 400 /);
    assert.match(await answerTo("GET / HTTP/1.0\r\n\r\n"), new RegExp(noSiteText));
  },
);

test("abuse 25: what begins with a dot is 404, but for .well-known", options, async () => {
  await mkdir(join(www, ".git"));
  await mkdir(join(www, ".well-known"));
  for (const name of [".git/config", ".env", ".htaccess", ".well-known/.env"])
    await writeFile(join(www, name), "secret");
  await writeFile(join(www, ".well-known", "shown"), "shown");
  const hidden = [
    "/.git/config",
    "/.env",
    "/.htaccess",
    "/.well-known/.env",
    "/%2eenv",
    "//.env",
    "/./.env",
    "/.suspended",
  ];
  for (const path of [...hidden, "/../.suspended", "/.well-known/../.env"]) {
    const { status, body } = await page("first.example.sites.test", path);
    assert.ok(status === 404 || status === 400, `${path}: ${status}`);
    assert.doesNotMatch(body, /secret/);
  }
  assert.equal((await page("first.example.sites.test", "/.well-known/shown")).body, "shown");
});

test("abuse 27: a browser guesses no content types, whatever the answer", options, async () => {
  for (const path of ["/", "/missing", "/.env"]) {
    const { headers } = await page("first.example.sites.test", path);
    assert.equal(headers["x-content-type-options"], "nosniff", path);
  }
});

test("a folder without a page and a missing file are the same plain 404", options, async () => {
  await mkdir(join(www, "folder"));
  const answers = await Promise.all(["/folder/", "/missing"].map((path) => page("first.example.sites.test", path)));
  for (const { status, body } of answers) assert.deepEqual([status, body], [404, "Not found.\n"]);
});

test("a host name's certificate is served as soon as its file is there", options, async () => {
  const shown = async (servername: string) => {
    const socket = connectTls({ ...node.webTls, servername, rejectUnauthorized: false });
    try {
      await once(socket, "secureConnect");
      return socket.getPeerX509Certificate()?.toString().trim();
    } catch {
      return undefined;
    } finally {
      socket.destroy();
    }
  };
  assert.equal(await shown("first.example.sites.test"), node.certificate.trim());
  assert.equal(await shown("www.customer.example"), undefined);
  const folder = node.settings.web.tls?.certificatesFolder ?? "";
  const { keyAndCertificate } = await node.anotherCertificate("www.customer.example");
  await writeFile(join(folder, "www.customer.example.pem"), keyAndCertificate, { mode: 0o644 });
  assert.ok(keyAndCertificate.includes((await shown("www.customer.example")) ?? "nothing"));
  assert.equal(await shown("first.example.sites.test"), node.certificate.trim());
});

test("nginx counts the addresses of a /64 as one", options, () => {
  const [, lines = ""] =
    /map \$remote_addr \$source \{([^}]*\{4\}[^}]*\{1,3\}[^}]*)\}/.exec(renderNginxConf(node.settings)) ?? [];
  const patterns = [...lines.matchAll(/"~(.*)" \$network;/g)].map(([, pattern]) => new RegExp(pattern ?? ""));
  assert.equal(patterns.length, 2);
  const sourceOf = (address: string) =>
    patterns.map((pattern) => pattern.exec(address)?.groups?.network).find((network) => network !== undefined);
  for (const [one, other, isSame] of [
    ["2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6", true],
    ["2001:db8::1", "2001:db8::2:3", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["2001:db8::1", "2001:db8:0:1::1", false],
  ] as const) {
    assert.equal(sourceOf(one) === sourceOf(other), isSame, `${one} ${other}`);
  }
  assert.equal(sourceOf("192.0.2.1"), undefined);
});
