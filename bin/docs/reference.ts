/** The reference of the API, made from openapi.json: a page for each of its tags, one for all requests, one for shapes. */
import { describeType, fieldTable } from "./field-tables.ts";
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

export function referencePages(document: ApiDocument): Page[] {
  const operations = operationsOf(document);
  const ofTags = document.tags.map((tag) => {
    const ofTag = operations.filter(({ tags }) => tags[0] === tag.name);
    const parts = ofTag.map((operation) => operationPart(document, operation, operations));
    return page(slugOf(tag.name), tag.name, prose(tag.description), callsTable(ofTag), ...parts);
  });
  return [indexPage(document, operations), everyRequestPage(document), ...ofTags, shapesPage(document)];
}

const page = (name: string, title: string, ...parts: string[]): Page => ({
  name,
  title,
  // The headings inside of an operation are too many for the list beside the page.
  text: `${blocks("---\noutline: 2\n---", `# ${title}`, ...parts)}\n`,
});

const linkTo = ({ tags, operationId }: PlacedOperation) => `${slugOf(tags[0])}#${operationId}`;

const callsTable = (operations: readonly PlacedOperation[]) =>
  table(
    ["call", "what it does"],
    operations.map((operation) => [
      `[${code(`${operation.method} ${operation.path}`)}](${linkTo(operation)})`,
      prose(operation.summary),
    ]),
  );

function indexPage(document: ApiDocument, operations: readonly PlacedOperation[]): Page {
  const parts = document.tags.flatMap(({ name }) => [
    `## ${name}`,
    callsTable(operations.filter(({ tags }) => tags[0] === name)),
  ]);
  const intro = `The service describes its API at ${code("/openapi.json")}; these pages show version ${document.info.version} of
that description. What applies to all calls is on the page [Every request](${everyRequest}). [The API](../api.md) explains the calls.`;
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
const linkToError = (errorCode: string) => `[${code(errorCode)}](../errors#${errorCode.replaceAll("_", "-")})`;

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

function operationPart(document: ApiDocument, operation: PlacedOperation, all: readonly PlacedOperation[]): string {
  const { operationId: id, summary, description, requestBody } = operation;
  const { schema, examples = {} } = requestBody?.content["application/json"] ?? {};
  const answers = Object.entries(operation.responses).filter(([status]) => Number(status) < 400);
  const errors = ownErrors(document, operation);
  const others = `[those of every request](${everyRequest}#errors)`;
  return blocks(
    `## ${summary.replace(/\.$/, "")} {#${id}}`,
    `\`\`\`http\n${operation.method} ${operation.path}\n\`\`\``,
    prose(description),
    formsOf(operation, all),
    parametersPart(document, operation),
    schema && `### Body {#${id}-body}`,
    schema && fieldTable(document, schema, "request"),
    ...Object.values(examples).map(({ value }) => jsonBlock(value)),
    ...answers.map(([status, answer]) => answerPart(document, id, status, answer)),
    `### Errors {#${id}-errors}`,
    errors.length > 0 && errorsTable(document, errors),
    errors.length > 0 ? `And ${others}.` : `Only ${others}.`,
  );
}

/** Where else the call is served. */
function formsOf({ operationId: id, path }: PlacedOperation, all: readonly PlacedOperation[]): string {
  const sibling = all.find((other) => other.operationId === (id.endsWith("V2") ? id.slice(0, -2) : `${id}V2`));
  const isV2 = path.startsWith("/v2/");
  const link = sibling && `[${code(`${sibling.method} ${sibling.path}`)}](${linkTo(sibling)})`;
  if (isV2) return link ? `The earlier form: ${link}.` : "";
  return `Also at ${code(`/v1${path}`)}.${link ? ` The later form: ${link}.` : ""}`;
}

function parametersPart(document: ApiDocument, { operationId, parameters }: PlacedOperation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map((part) => {
    const { name, in: place, schema, required, description = "", example }: Parameter = follow(document, part);
    const shown = example ?? schema.examples?.[0];
    const meaning = blocks(prose(description), shown !== undefined && `For example ${code(shown)}.`);
    return [code(name), place, describeType(schema), required ? "yes" : "no", meaning.replace("\n\n", " ")];
  });
  const head = ["name", "in", "type", "required", "meaning"];
  return blocks(`### Parameters {#${operationId}-parameters}`, table(head, rows));
}

function headersTable(document: ApiDocument, headers: Record<string, Header>): string {
  const rows = Object.entries(headers).map(([name, part]) => {
    const { required, description, example } = follow(document, part);
    return [code(name), required ? "yes" : "no", blocks(prose(description), `For example ${code(example)}.`)];
  });
  return table(
    ["header", "always", "meaning"],
    rows.map((cells) => cells.map((text) => text.replace("\n\n", " "))),
  );
}

function answerPart(document: ApiDocument, id: string, status: string, answer: Answer): string {
  const body = answer.content?.["application/json"];
  const common = document.components.headers;
  const own = Object.entries(answer.headers ?? {}).filter(([name]) => !(name in common));
  return blocks(
    `### Answer ${status} {#${id}-${status}}`,
    prose(answer.description),
    own.length > 0 && headersTable(document, Object.fromEntries(own)),
    body ? fieldTable(document, body.schema, "answer") : "It has no body.",
    body?.example !== undefined && jsonBlock(body.example),
  );
}
