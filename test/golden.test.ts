import assert from "node:assert/strict";
import { glob, readFile, writeFile } from "node:fs/promises";
import { STATUS_CODES } from "node:http";
import { test } from "node:test";
import type { TObject, TSchema } from "typebox";
import { edgeErrors } from "#api/answer-error.ts";
import { openRoutes } from "#api/open-routes.ts";
import type { Route } from "#api/route.ts";
import { routes } from "#api/routes.ts";
import { v2Routes } from "#api/v2/routes.ts";
import { catalogue, errorCodes as codes, type ErrorCode } from "#errors.ts";
import type { Docs } from "#use-case/docs.ts";

/** Both forms. */
const everyRoute = [...routes, ...v2Routes];
const listsOf = (code: ErrorCode) => everyRoute.filter(({ useCase }) => useCase.errors.includes(code));
const isEdgeError = (code: ErrorCode) => edgeErrors.includes(code);

/** Compares with the file, or writes it when UPDATE_GOLDEN is set. */
async function assertGolden(path: string, printed: string): Promise<void> {
  const url = new URL(`../${path}`, import.meta.url);
  if (process.env.UPDATE_GOLDEN) await writeFile(url, printed);
  const golden = await readFile(url, "utf8");
  assert.equal(
    printed,
    golden,
    `run UPDATE_GOLDEN=1 npm test -- test/golden.test.ts and look at what changed in ${path}`,
  );
}

/** "skip?, take?" */
const fieldsOf = (shape: TObject) => {
  const required: readonly string[] = shape.required ?? [];
  return Object.keys(shape.properties)
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .join(", ");
};

/** "Domain[]" */
function nameOf(shape: TSchema): string {
  const { title, items, anyOf } = shape as { title?: string; items?: TSchema; anyOf?: TSchema[] };
  if (items) return `${nameOf(items)}[]`;
  return title ?? anyOf?.map(nameOf).join(" or ") ?? "an object";
}

const docsLines = ({ query, body, answers }: Docs) => [
  ...(query ? [`  query   ${fieldsOf(query)}`] : []),
  ...(body ? [`  body    ${"properties" in body ? fieldsOf(body) : nameOf(body)}`] : []),
  ...Object.entries(answers).map(([status, answer]) =>
    [`  answer  ${status}`, answer.body && nameOf(answer.body), answer.headers && `with ${answer.headers.join(", ")}`]
      .filter(Boolean)
      .join(" "),
  ),
];

test("test/golden/routes.txt is the whole API: who may call what, and what it can answer", async () => {
  const own = ({ useCase }: Route) => useCase.errors.filter((code) => !isEdgeError(code)).toSorted();
  const lines = everyRoute.map((route) => {
    const { method, path, useCase } = route;
    const scopes = [useCase.scope].flat().join(" or ");
    const head = [`${method} ${path}`, `  scope   ${scopes}`, ...docsLines(useCase.docs)];
    return [...head, ...own(route).map((code) => `  error   ${code}`)];
  });
  const open = openRoutes.map(({ method, path, docs, errors }) => {
    const head = [`${method} ${path}, also under /v2`, "  scope   none: it is not signed", ...docsLines(docs)];
    return [...head, ...errors.map((code) => `  error   ${code}`)];
  });
  const everywhere = edgeErrors.toSorted().map((code) => `  error   ${code}`);
  const printed = [...lines, ...open, ["any request; those without /v2 also under /v1", ...everywhere]].map(
    (block) => `${block.join("\n")}\n`,
  );
  await assertGolden("test/golden/routes.txt", printed.join("\n"));
});

test("docs/errors.md is the catalogue of the code", async () => {
  const byStatus = codes.toSorted((a, b) => catalogue[a].status - catalogue[b].status || (a < b ? -1 : 1));
  const parts = byStatus.map((code, index) => {
    const { status, text } = catalogue[code];
    const isFirst = index === 0 || catalogue[byStatus[index - 1]!].status !== status;
    const calls = listsOf(code).map(({ method, path }) => `\`${method} ${path.replace(/:(\w+)/g, "{$1}")}\``);
    const answeredBy = isEdgeError(code) ? "any request" : calls.join(", ");
    const heading = isFirst ? `## ${status} ${STATUS_CODES[status]}\n\n` : "";
    return `${heading}### \`${code}\`\n\n${text.replaceAll("<", "\\<")}\n\nAnswer to ${answeredBy}.\n`;
  });
  await assertGolden("docs/errors.md", `${errorsHeading}${parts.join("\n")}`);
});

const errorsHeading = `# Errors

Every answer with a status of 400 or above has this body; \`validation_errors\` is present when it can name fields:

\`\`\`json
{
  "error_code": "bad_request",
  "error_text": "domain_name: This is not a valid domain name.",
  "validation_errors": [
    {
      "error_code": "invalid",
      "error_text": "This is not a valid domain name.",
      "field": "domain_name"
    }
  ]
}
\`\`\`

Programs should rely on the code, which is stable. The text is for people, may change, and is often more specific than the
one below. After 429, or 500 and above, the nonce is unused: the same signed request may be sent again.

<!-- Printed from src/errors.ts and the lists of the use cases: UPDATE_GOLDEN=1 npm test -- test/golden.test.ts -->

`;

test("every error of the catalogue can be answered by some request", () => {
  const orphans = codes.filter((code) => !isEdgeError(code) && listsOf(code).length === 0);
  assert.deepEqual(orphans, [], "list it in the use case that throws it, or remove it from src/errors.ts");
});

const lists = /\b(errors|edgeErrors)(: readonly ErrorCode\[\] =|:) \[[^\]]*\]/g;
const throws = /\b(?:ApiError\("(\w+)"|(invalidField|unavailable)\()/g;
const codesOfFunctions: Record<string, string> = { invalidField: "bad_request", unavailable: "service_unavailable" };

test("every error of the catalogue is thrown somewhere", async () => {
  let source = "";
  for await (const path of glob("src/**/*.ts", { exclude: ["**/*.test.ts", "src/errors.ts"] })) {
    source += (await readFile(path, "utf8")).replace(lists, "");
  }
  const never = codes.filter((code) => {
    const throwers = Object.keys(codesOfFunctions).filter((name) => codesOfFunctions[name] === code);
    return !source.includes(`"${code}"`) && !throwers.some((name) => source.includes(`${name}(`));
  });
  assert.deepEqual(never, [], "remove it from src/errors.ts and from the lists");
});

test("a use case lists every error that its file throws", async () => {
  const unlisted: string[] = [];
  for await (const path of glob("src/{domains,hosting}/*.ts", { exclude: ["**/*.test.ts"] })) {
    const text = await readFile(path, "utf8");
    const listed = text.match(lists)?.join(" ");
    if (listed === undefined) continue;
    for (const [, code, name] of text.matchAll(throws)) {
      const thrown = code ?? codesOfFunctions[name!];
      if (!listed.includes(`"${thrown}"`)) unlisted.push(`${path} throws ${thrown}`);
    }
  }
  assert.deepEqual(unlisted, [], "an error that is not in the use case's list is answered as a 500: list it");
});
