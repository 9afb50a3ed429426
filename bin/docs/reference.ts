/** The reference of the API, made from openapi.json: a page for each of its tags, one for all requests, one for shapes. */
import { describeType, fieldTable, whatItIs } from "./field-tables.ts";
import { blocks, code, jsonBlock, prose, table } from "./markdown.ts";
import {
  type Answer,
  type ApiDocument,
  codesOf,
  follow,
  type Header,
  operationsOf,
  type Parameter,
  type PlacedOperation,
} from "./openapi.ts";

export interface Page {
  /** Without ".md". */
  name: string;
  title: string;
  text: string;
}

const everyRequest = "every-request";
const slugOf = (tag: string) => tag.toLowerCase().replaceAll(" ", "-");

/** A call in the forms that it has: v1, v2 or both. */
interface Call {
  id: string;
  tag: string;
  /** Two or three words. */
  name: string;
  v1: PlacedOperation | undefined;
  v2: PlacedOperation | undefined;
}

const isV2 = ({ path }: PlacedOperation) => path.startsWith("/v2/");

function callsOf(document: ApiDocument): Call[] {
  const forms = Map.groupBy(operationsOf(document), ({ operationId }) => operationId.replace(/V2$/, ""));
  return [...forms].map(([name, operations]) => {
    const v1 = operations.find((operation) => !isV2(operation));
    const first = v1 ?? operations[0]!;
    const v2 = operations.find(isV2);
    return { id: first.operationId, tag: first.tags[0], name: shortName(name), v1, v2 };
  });
}

/** "setNameServers" as "Set name servers". */
function shortName(operationId: string): string {
  const words = operationId.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const spelled = words
    .replace(/dnssec$/, "DNSSEC")
    .replace(/open api$/, "OpenAPI")
    .replace(/ftp$/, "FTP");
  return spelled[0]!.toUpperCase() + spelled.slice(1);
}

export function referencePages(document: ApiDocument): Page[] {
  const calls = callsOf(document);
  const ofTags = document.tags.map((tag) => {
    const ofTag = calls.filter((call) => call.tag === tag.name);
    const parts = ofTag.map((call) => callPart(document, call));
    return page(slugOf(tag.name), tag.name, prose(tag.description), callsTable(ofTag), ...parts);
  });
  return [indexPage(document, calls), everyRequestPage(document), ...ofTags, shapesPage(document)];
}

const page = (name: string, title: string, ...parts: string[]): Page => ({
  name,
  title,
  // The headings inside a call are too many for the list next to the page.
  text: `${blocks("---\noutline: 2\n---", `# ${title}`, ...parts)}\n`,
});

const placeOf = (operation: PlacedOperation | undefined) =>
  operation ? code(`${operation.method} ${operation.path}`) : "–";

const callsTable = (calls: readonly Call[]) =>
  table(
    ["call", "v1", "v2"],
    calls.map(({ id, tag, name, v1, v2 }) => [`[${name}](${slugOf(tag)}.md#${id})`, placeOf(v1), placeOf(v2)]),
  );

function indexPage(document: ApiDocument, calls: readonly Call[]): Page {
  const parts = document.tags.flatMap(({ name }) => [
    `## ${name}`,
    callsTable(calls.filter(({ tag }) => tag === name)),
  ]);
  const intro = `The service describes its API at ${code("/openapi.json")}; these pages show version ${document.info.version} of
that description. v1 is served bare and under ${code("/v1")}; [v2](../api-v2.md) has the same domains and accounts in other shapes.
What applies to all calls is on the page [Every request](${everyRequest}.md). [The API](../api.md) explains the calls.`;
  return page("calls", "All calls", intro, ...parts);
}

function everyRequestPage(document: ApiDocument): Page {
  const { securitySchemes, headers } = document.components;
  const schemes = Object.values(securitySchemes).map(({ name, description }) => [code(name), prose(description)]);
  return page(
    everyRequest,
    "Every request",
    document.info.description
      .split("\n\n")
      .map((part) => prose(part))
      .join("\n\n"),
    "## Signatures {#signatures}",
    `Either ${code("Authorization")}, or ${code("Signature")} with ${code("Signature-Input")}. [Signatures](../signing.md) has examples.`,
    table(["header", "meaning"], schemes),
    "## Headers of every answer {#headers}",
    headersTable(document, headers),
    "## Errors of every request {#errors}",
    `An error has this body. Programs should rely on ${code("error_code")}: it is stable.`,
    fieldTable(document, document.components.schemas.Error!, "answer"),
    "These can be the answer to any call; each call lists only its own besides.",
    errorsTable(document, sharedCodes(document)),
  );
}

function shapesPage(document: ApiDocument): Page {
  const { schemas } = document.components;
  const names = Object.keys(schemas).toSorted();
  const parts = names.flatMap((name) => [`## ${name} {#${name}}`, fieldTable(document, schemas[name]!, "answer")]);
  return page("shapes", "Shapes", "The objects that several calls take or answer.", ...parts);
}

/** The status and the codes of an answer that is an error. */
interface ErrorRow {
  status: string;
  code: string;
}

/** What the edge can answer, whatever the call. */
function sharedCodes({ components }: ApiDocument): ErrorRow[] {
  const rows = Object.entries(components.responses).flatMap(([name, answer]) =>
    codesOf(answer).map((errorCode): ErrorRow => ({ status: /\d+/.exec(name)![0], code: errorCode })),
  );
  return [...new Map(rows.map((row) => [row.code, row])).values()].toSorted(
    (a, b) => Number(a.status) - Number(b.status),
  );
}

/** The page of errors has a heading for each code; VitePress makes anchors of words with hyphens. */
const linkToError = (errorCode: string) => `[${code(errorCode)}](../errors.md#${errorCode.replaceAll("_", "-")})`;

const errorsTable = ({ components }: ApiDocument, rows: readonly ErrorRow[]) =>
  table(
    ["status", "code", "what it means, and what to do"],
    rows.map((row) => [row.status, linkToError(row.code), prose(components.examples[row.code]!.summary)]),
  );

/** The errors of a call that are not those of every request; a malformed request is worth a line at each call. */
function ownErrors(document: ApiDocument, { responses }: PlacedOperation): ErrorRow[] {
  const shared = new Set(sharedCodes(document).map((row) => row.code));
  return Object.entries(responses)
    .filter(([, answer]) => !("$ref" in answer))
    .flatMap(([status, answer]) => codesOf(answer).map((errorCode) => ({ status, code: errorCode })))
    .filter((row) => row.code === "bad_request" || !shared.has(row.code));
}

function callPart(document: ApiDocument, { id, name, v1, v2 }: Call): string {
  const operation = v1 ?? v2!;
  const places = [
    v1 && `${v1.method} ${v1.path}${v2 ? `\n${v1.method} /v1${v1.path}` : ""}`,
    v2 && `${v2.method} ${v2.path}`,
  ];
  return blocks(
    `## ${name}${v1 ? "" : " (v2)"} {#${id}}`,
    prose(operation.summary),
    `\`\`\`http\n${places.filter(Boolean).join("\n")}\n\`\`\``,
    prose(operation.description),
    v1 && !v2 && `Also at ${code(`/v1${v1.path}`)}.`,
    ...partsOf(document, operation).values(),
    v1 && v2 && v2Part(document, v1, v2),
  );
}

/** The parts of a call in one of its forms, by their titles. */
function partsOf(document: ApiDocument, operation: PlacedOperation): Map<string, string> {
  const { operationId: id, requestBody } = operation;
  const { schema, examples = {} } = requestBody?.content["application/json"] ?? {};
  const answers = Object.entries(operation.responses).filter(([status]) => Number(status) < 400);
  const parts: [title: string, text: string | undefined][] = [
    ["Parameters", parametersPart(document, operation)],
    [
      "Body",
      schema &&
        blocks(
          fieldTable(document, schema, "request"),
          ...Object.values(examples).map(({ value }) => jsonBlock(value)),
        ),
    ],
    ...answers.map(([status, answer]): [string, string] => [`Answer ${status}`, answerPart(document, answer)]),
    ["Errors", errorsPart(document, operation)],
  ];
  const heading = (title: string) => `### ${title} {#${id}-${title.toLowerCase().replace("answer ", "")}}`;
  return new Map(parts.flatMap(([title, text]) => (text ? [[title, blocks(heading(title), text)]] : [])));
}

/** What differs from v1. */
function v2Part(document: ApiDocument, v1: PlacedOperation, v2: PlacedOperation): string {
  const bare = (text: string | undefined) => text?.replace(/^### .*\n/, "");
  const [inV1, inV2] = [partsOf(document, v1), partsOf(document, v2)];
  const other = [...inV2].filter(([title, text]) => bare(text) !== bare(inV1.get(title)));
  const same = [...inV2.keys()].filter((title) => !other.some(([changed]) => changed === title));
  const differs = v2.description !== v1.description;
  return blocks(
    `### In v2 {#${v2.operationId}}`,
    `${placeOf(v2)}${differs ? "" : " does the same."}`,
    differs && prose(v2.description),
    same.length > 0 && `As in v1: ${same.join(", ").toLowerCase()}.`,
    ...other.map(([title, text]) => blocks(`**${title}**`, bare(text)?.trim())),
  );
}

function errorsPart(document: ApiDocument, operation: PlacedOperation): string {
  const errors = ownErrors(document, operation);
  const others = `[those of every request](${everyRequest}.md#errors)`;
  return errors.length > 0 ? blocks(errorsTable(document, errors), `And ${others}.`) : `Only ${others}.`;
}

function parametersPart(document: ApiDocument, { parameters }: PlacedOperation): string | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map((part) => {
    const { name, in: place, schema, required = false, description = "", example }: Parameter = follow(document, part);
    const meaning = withExample(description, example ?? schema.examples?.[0]);
    return [code(name), place, whatItIs(describeType(schema), required, "request", meaning)];
  });
  return table(["name", "in", "what it is"], rows);
}

const withExample = (description: string, example: unknown) =>
  [description, example !== undefined && `For example ${code(example)}.`].filter(Boolean).join(" ");

function headersTable(document: ApiDocument, headers: Record<string, Header>): string {
  const rows = Object.entries(headers).map(([name, part]) => {
    const { required, description, example } = follow(document, part);
    return [code(name), prose(`${required ? "" : "Not in every answer. "}${withExample(description, example)}`)];
  });
  return table(["header", "what it is"], rows);
}

function answerPart(document: ApiDocument, answer: Answer): string {
  const body = answer.content?.["application/json"];
  const common = document.components.headers;
  const own = Object.entries(answer.headers ?? {}).filter(([name]) => !(name in common));
  return blocks(
    prose(answer.description),
    own.length > 0 && headersTable(document, Object.fromEntries(own)),
    body ? fieldTable(document, body.schema, "answer") : "It has no body.",
    body?.example !== undefined && jsonBlock(body.example),
  );
}
