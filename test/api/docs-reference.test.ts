/** The pages of the documentation that are made from openapi.json: everything that it says is on them. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { apiDocument } from "#api/open-routes.ts";
import { type ApiDocument, codesOf, follow, operationsOf, type PlacedOperation } from "../../bin/docs/openapi.ts";

const built = fileURLToPath(new URL("../../site/dist", import.meta.url));
const skip = existsSync(`${built}/index.html`) ? false : "the site is not built: npm run docs";
const hint = "if the API has changed, npm run docs builds the pages again";

const document = JSON.parse(JSON.stringify(apiDocument())) as ApiDocument;
const operations = operationsOf(document);

/** The text of a page as a reader sees it, by its name. */
const pages = new Map(
  skip
    ? []
    : readdirSync(`${built}/reference`).map((name) => [name, readFileSync(`${built}/reference/${name}`, "utf8")]),
);

const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

/** The whole call that has an anchor: v1 and v2 are one section, and what v2 does not say of itself is as in v1. */
function sectionAt(id: string): string {
  const heading = new RegExp(`<h[23] id="${id}"`);
  const page = [...pages.values()].find((html) => heading.test(html)) ?? assert.fail(`${id}: ${hint}`);
  const section = page.split(/(?=<h2 )/).find((part) => heading.test(part));
  return textOf(section!);
}

const ownCodes = ({ responses }: PlacedOperation) =>
  Object.values(responses)
    .filter((answer) => !("$ref" in answer))
    .flatMap(codesOf);

const sharedCodes = new Set(Object.values(document.components.responses).flatMap(codesOf));

for (const operation of operations) {
  const { method, path, operationId } = operation;
  test(`${method} ${path} has a section with all that the description says of it`, { skip }, () => {
    const section = sectionAt(operationId);
    const includes = (part: string) => assert.ok(section.includes(part), `${part} is missing: ${hint}`);
    includes(`${method} ${path}`);
    for (const scope of operation.security.flatMap((scheme) => Object.values(scheme).flat())) includes(scope);
    for (const parameter of operation.parameters) includes(follow(document, parameter).name);
    const body = operation.requestBody?.content["application/json"];
    for (const field of Object.keys(body?.schema.properties ?? {})) includes(field);
    for (const { value } of Object.values(body?.examples ?? {})) includes(JSON.stringify(value, null, 2));
    for (const [status, answer] of Object.entries(operation.responses)) {
      if (Number(status) >= 400) continue;
      includes(`Answer ${status}`);
      for (const header of Object.keys(answer.headers ?? {})) {
        if (!(header in document.components.headers)) includes(header);
      }
      const example = answer.content?.["application/json"].example;
      if (example !== undefined) includes(JSON.stringify(example, null, 2));
    }
    for (const code of ownCodes(operation).filter((own) => !sharedCodes.has(own))) {
      includes(code);
      includes(document.components.examples[code]!.summary.replaceAll("`", ""));
    }
  });
}

test("a call that v1 and v2 have is one section, whose heading is a few words", { skip }, () => {
  const ids = new Set(operations.map(({ operationId }) => operationId));
  for (const id of ids) {
    if (!id.endsWith("V2") || !ids.has(id.slice(0, -2))) continue;
    assert.ok(sectionAt(id.slice(0, -2)).includes("In v2"), id);
    assert.equal(sectionAt(id), sectionAt(id.slice(0, -2)));
  }
  const headings = [...pages.values()].flatMap((html) => [...html.matchAll(/<h2 id="[^"]*"[^>]*>([^<]*)/g)]);
  assert.ok(headings.length > 60);
  for (const [, heading] of headings) assert.ok(heading!.trim().split(" ").length <= 5, heading);
});

test("no column of the reference is mostly empty", { skip }, () => {
  for (const [name, html] of pages) {
    const cells = [...html.matchAll(/<td [^>]*>(.*?)<\/td>/gs)];
    assert.deepEqual(
      cells.filter(([, text]) => textOf(text!).trim() === ""),
      [],
      name,
    );
  }
});

test("every error code, every shape and every common header is on the pages", { skip }, () => {
  const common = textOf(pages.get("every-request.html")!);
  for (const code of sharedCodes) assert.ok(common.includes(code), `${code}: ${hint}`);
  for (const header of Object.keys(document.components.headers)) assert.ok(common.includes(header), header);
  const all = textOf([...pages.values()].join("\n"));
  const codes = Object.keys(document.components.examples);
  assert.ok(codes.length > 30);
  for (const code of codes) assert.ok(all.includes(code), `${code}: ${hint}`);
  for (const name of Object.keys(document.components.schemas)) {
    const section = sectionAt(name);
    for (const field of Object.keys(document.components.schemas[name]!.properties ?? {})) {
      assert.ok(section.includes(field), `${name} lacks ${field}: ${hint}`);
    }
  }
});

test("every link of the reference to a call, a shape or an error leads to an anchor that exists", { skip }, () => {
  const errors = readFileSync(`${built}/errors.html`, "utf8");
  const links = [...pages].flatMap(([from, html]) =>
    [...html.matchAll(/href="\.\/(?:\.\.\/)?([\w-]+)#([\w-]+)"/g)].map(([, page, id]) => ({ from, page, id })),
  );
  assert.ok(links.length > 200);
  for (const { from, page, id } of links) {
    const target = page === "errors" ? errors : pages.get(`${page}.html`);
    assert.ok(target?.includes(`id="${id}"`), `${from} links to ${page}#${id}`);
  }
  assert.ok(links.some(({ page }) => page === "errors"));
});

test("the search knows every call", { skip }, () => {
  const chunks = `${built}/assets/chunks`;
  const name =
    readdirSync(chunks).find((file) => file.includes("localSearchIndex")) ?? assert.fail("there is no index");
  const index = readFileSync(`${chunks}/${name}`, "utf8");
  for (const { operationId } of operations) assert.ok(index.includes(`#${operationId}"`), `${operationId}: ${hint}`);
});
