import { SaxesParser } from "saxes";

const secretElements: ReadonlySet<string> = new Set(["pw", "newPW", "ext"]);

/**
 * A frame's XML without the contents of passwords and authInfo: what stands between the tags, found by a parser, because a
 * comment or a CDATA section may hold what looks like an end. Only for text that parsed: else nothing is safe.
 */
export function redactXml(xml: string): string {
  if (![...secretElements].some((name) => xml.includes(name))) return xml;
  const parser = new SaxesParser({ xmlns: true });
  const kept: string[] = [];
  let keptUntil = 0;
  /** The open elements that are secret; only the outermost counts. */
  let depth = 0;
  parser.on("opentag", ({ local, isSelfClosing }) => {
    if (!secretElements.has(local) || isSelfClosing) return;
    if (depth === 0) kept.push(xml.slice(keptUntil, parser.position), "[redacted]");
    depth += 1;
  });
  parser.on("closetag", ({ local, isSelfClosing }) => {
    if (!secretElements.has(local) || isSelfClosing) return;
    depth -= 1;
    // The position is behind the end tag.
    if (depth === 0) keptUntil = xml.lastIndexOf("</", parser.position - 1);
  });
  parser.write(xml).close();
  return kept.join("") + xml.slice(keptUntil);
}
