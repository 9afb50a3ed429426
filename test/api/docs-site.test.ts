/** The documentation under /docs. `npm ci` builds it; `npm run docs` does so again. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startTestGateway } from "../harness/gateway.ts";
import { sendRaw } from "../harness/raw-http.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const skip = existsSync(`${root}/site/dist/index.html`) ? false : "the site is not built: npm run docs";

const gateway = await startTestGateway({ after }, { worker: false });
const get = (path: string, init?: RequestInit) => fetch(`${gateway.url}${path}`, { redirect: "manual", ...init });

const sources = () =>
  readdirSync(`${root}/docs`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => ({ name, text: readFileSync(`${root}/docs/${name}`, "utf8") }));

test("every page of docs/ is there, with and without .html", { skip }, async () => {
  const pages = readdirSync(`${root}/docs`).filter((name) => name.endsWith(".md"));
  assert.ok(pages.length > 15);
  for (const page of pages) {
    const name = page.replace(".md", "");
    for (const path of [`/docs/${name}`, `/docs/${name}.html`]) {
      const reply = await get(path);
      assert.equal(reply.status, 200, `${path}: if docs/ has changed, npm run docs builds it again`);
      assert.match(reply.headers.get("content-type") ?? "", /^text\/html/);
    }
  }
  for (const folder of ["", "decisions/"]) assert.equal((await get(`/docs/${folder}`)).status, 200, folder);
  const moved = await get("/docs");
  assert.deepEqual([moved.status, moved.headers.get("location")], [308, "/docs/"]);
});

test("every page is there as Markdown, too, and llms.txt lists all pages with a sentence about each", {
  skip,
}, async () => {
  const list = await get("/docs/llms.txt");
  assert.match(list.headers.get("content-type") ?? "", /^text\/plain/);
  const text = await list.text();
  assert.match(text, /^# Deedhouse\n\n> .+\.\n\n## Resellers' developers\n\n- \[/);
  const listed = [...text.matchAll(/^- \[.+\]\(\/docs\/(\S+)\.md\): .+$/gm)].map(([, page]) => page!);
  const built = readdirSync(`${root}/site/dist`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".html"))
    .map((name) => name.replace(".html", ""));
  const expected = built.filter((page) => !["index", "404"].includes(page));
  assert.deepEqual(listed.toSorted(), expected.toSorted());
  for (const page of ["index", ...listed]) {
    const reply = await get(`/docs/${page}.md`);
    assert.equal(reply.status, 200, page);
    assert.match(reply.headers.get("content-type") ?? "", /^text\/markdown/);
    assert.match(await reply.text(), /^# \S/, page);
  }
});

test("a cell of a table has the name of its column, for screens that show rows as blocks", { skip }, async () => {
  const html = await (await get("/docs/registries")).text();
  const labels = new Set([...html.matchAll(/<td [^>]*data-label="([^"]*)"/g)].map(([, label]) => label));
  assert.ok(labels.has("field") && labels.has("default") && labels.has("meaning"));
  for (const { name, text } of sources()) {
    for (const [, head] of text.matchAll(/^ *\|(.*)\|\n *\|(?: *-+ *\|)+$/gm)) {
      assert.ok(
        head!.split("|").every((cell) => cell.trim()),
        `${name} has a column without a name: |${head}|`,
      );
    }
    // A line between two rows would end the table, and the rest would be text.
    assert.doesNotMatch(text, /^\|.*\|\n\n\|(?!.*\|\n\|[-|]+\|$)/m, name);
  }
});

test("a page loads nothing from elsewhere, and runs only scripts of its own", { skip }, async () => {
  for (const path of ["/docs/", "/docs/concepts", "/docs/operating", "/docs/reference/domains", "/docs/decisions/"]) {
    const reply = await get(path);
    const html = await reply.text();
    const policy = reply.headers.get("content-security-policy") ?? "";
    const loaded = [...html.matchAll(/<(?:script|link|img)\b[^>]*\s(?:src|href)="([^"]*)"/g)].map(([, url]) => url!);
    assert.ok(loaded.length > 3);
    for (const url of loaded) {
      assert.match(url, /^\/docs\//);
      assert.equal((await get(url)).status, 200, url);
    }
    const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(([, script]) => script!);
    assert.ok(inline.length > 0);
    for (const script of inline) {
      assert.ok(policy.includes(`'sha256-${createHash("sha256").update(script).digest("base64")}'`));
    }
    assert.match(policy, /default-src 'self'; script-src 'self' 'sha256-[^;]*; style-src 'self' 'unsafe-inline';/);
  }
});

test("what a browser has is not sent again, and assets are kept", { skip }, async () => {
  const first = await get("/docs/api");
  const etag = first.headers.get("etag") ?? "";
  const again = await get("/docs/api", { headers: { "if-none-match": etag } });
  assert.deepEqual([again.status, await again.text()], [304, ""]);
  const [asset] = /\/docs\/assets\/[^"]*\.js/.exec(await first.text()) ?? [""];
  const script = await get(asset, { headers: { "accept-encoding": "identity" } });
  assert.match(script.headers.get("cache-control") ?? "", /immutable/);
  assert.equal(script.headers.get("content-encoding"), null);
  assert.equal((await get(asset)).headers.get("content-encoding"), "gzip");
  const head = await get("/docs/api", { method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

test("nothing outside of the site is served, and other methods are calls of the API", { skip }, async () => {
  const outside = [
    "../package.json",
    "..%2fpackage.json",
    "%2e%2e/package.json",
    "assets/../../package.json",
    "//etc/passwd",
  ];
  for (const path of outside) {
    const reply = await sendRaw(gateway.url, `GET /docs/${path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n`);
    assert.equal(reply.status, 404, path);
    assert.doesNotMatch(reply.text, /"scripts"|root:/);
  }
  assert.equal((await get("/docs/no-such-page")).status, 404);
  assert.equal((await get("/docs/api", { method: "POST" })).status, 401);
  assert.equal((await get("/docsx")).status, 401);
});

test("the drawings are in the page, with its colours and with a text for who cannot see them", { skip }, async () => {
  const html = await (await get("/docs/concepts")).text();
  for (const name of ["order-states", "account-states"]) {
    assert.match(html, new RegExp(`<svg [^>]*aria-labelledby="${name}-title ${name}-text"`));
    assert.match(html, new RegExp(`<desc id="${name}-text">\\w+ becomes `));
  }
  assert.doesNotMatch(html, /svg:root/);
});
