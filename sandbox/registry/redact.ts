import { SaxesParser } from "saxes";

const secretElements: ReadonlySet<string> = new Set(["pw", "newPW", "ext", "allocationToken"]);
const secretName = `(?:[^\\s<>/:]+:)?(?:${[...secretElements].join("|")})`;
/** The start tag of a secret element, or what resembles one. */
const beginning = new RegExp(`<${secretName}[\\s/>]`, "g");
/** A secret element that contains only text, as nearly all do. */
const plainElement = new RegExp(`(<(${secretName})\\s*>)[^<]*(</\\2\\s*>)`, "g");
/** A comment, a CDATA section or a processing instruction other than the declaration: it may contain what resembles a tag. */
const opaque = /<!|.<\?/s;

/** A frame's XML without the contents of passwords and authInfo. Only for well-formed text: in other text nothing is safe. */
export function redactXml(xml: string): string {
  const count = xml.match(beginning)?.length ?? 0;
  if (count === 0) return xml;
  let plainCount = 0;
  const redacted = xml.replace(plainElement, (_element, start: string, _name, end: string) => {
    plainCount += 1;
    return `${start}[redacted]${end}`;
  });
  return plainCount === count && !opaque.test(xml) ? redacted : redactParsed(xml);
}

/** Finds the contents with a parser, which costs a tenth of what the registry does for a create. */
function redactParsed(xml: string): string {
  const parser = new SaxesParser();
  const kept: string[] = [];
  let keptUntil = 0;
  /** The open elements that are secret; only the outermost counts. */
  let depth = 0;
  parser.on("opentag", ({ name, isSelfClosing }) => {
    if (isSelfClosing || !secretElements.has(localOf(name))) return;
    if (depth === 0) kept.push(xml.slice(keptUntil, parser.position), "[redacted]");
    depth += 1;
  });
  parser.on("closetag", ({ name, isSelfClosing }) => {
    if (isSelfClosing || !secretElements.has(localOf(name))) return;
    depth -= 1;
    // The position is after the end tag.
    if (depth === 0) keptUntil = xml.lastIndexOf("</", parser.position - 1);
  });
  parser.write(xml).close();
  return kept.join("") + xml.slice(keptUntil);
}

const localOf = (name: string) => name.slice(name.indexOf(":") + 1);
