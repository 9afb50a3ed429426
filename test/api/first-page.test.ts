/** The address of the service in a browser. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { hasDocsSite } from "#api/docs-site.ts";
import { createFirstPage } from "#api/first-page.ts";
import { startTestGateway } from "../harness/gateway.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const ofBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const get = (headers: Record<string, string>, path = "/", method = "GET") =>
  fetch(`${gateway.url}${path}`, { headers, method });

test("a browser gets a page whose links work, without a script, and nothing from elsewhere", async () => {
  const reply = await get({ accept: ofBrowser });
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal(reply.headers.get("vary"), "accept");
  const html = await reply.text();
  assert.doesNotMatch(html, /<script|https?:/);
  const style = /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  assert.match(reply.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.ok(reply.headers.get("content-security-policy")?.includes(`style-src 'sha256-${hash}'`));
  const links = [...html.matchAll(/<a href="([^"]*)"/g)].map(([, path]) => path!);
  assert.ok(links.includes("/openapi.json"));
  assert.equal(links.includes("/docs/"), hasDocsSite());
  for (const link of links) assert.equal((await get({}, link)).status, 200, link);
  const head = await get({ accept: ofBrowser }, "/", "HEAD");
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

test("a program gets JSON there, as at every path, and caches keep both apart", async () => {
  for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.9"]) {
    const reply = await get({ accept });
    assert.equal(reply.status, 401);
    assert.equal(reply.headers.get("vary"), "accept");
    assert.equal(
      ((await reply.json()) as { error_code: string }).error_code,
      "auth_authorization_header_invalid_format",
    );
  }
});

test("a browser gets the errors of other paths as JSON", async () => {
  for (const path of ["/domains", "/nothing", "/v1"]) {
    const reply = await get({ accept: ofBrowser }, path);
    assert.equal(reply.status, 401);
    assert.match(reply.headers.get("content-type") ?? "", /^application\/json/);
  }
});

test("the page of a sandbox says how to try it, and links only to documentation that is there", () => {
  const pageOf = (hasDocs: boolean, isSandbox: boolean) => String(createFirstPage({ hasDocs, isSandbox }).answer.body);
  assert.match(pageOf(true, true), /npx deedhouse domains register .*href="\/docs\/testing"/s);
  assert.doesNotMatch(pageOf(true, false), /sandbox|npx/);
  for (const isSandbox of [true, false]) {
    assert.doesNotMatch(pageOf(false, isSandbox), /href="\/docs/);
    assert.match(pageOf(false, isSandbox), /npm run docs/);
  }
});
