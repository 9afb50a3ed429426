const indentation = "  ";
const tag = /<(?:"[^"]*"|'[^']*'|[^"'>])*>/.source;
/** An element without child elements, on one line; any other tag; text. */
const pieces = new RegExp(`(?!</)${tag}(?<!/>)[^<]*</[^>]*>|${tag}|[^<]+`, "g");

/**
 * A frame with one line for each element, for people. Adds only white space between elements, and keeps texts
 * unchanged. A frame with comments or CDATA, where white space may be text, stays as it is.
 */
export function prettyXml(xml: string): string {
  if (/<!|\n\s*</.test(xml)) return printable(xml.trim());
  const lines: string[] = [];
  let depth = 0;
  for (const [piece] of xml.matchAll(pieces)) {
    if (piece.startsWith("</")) depth -= 1;
    if (piece.trim() !== "") lines.push(`${indentation.repeat(depth)}${piece.trim()}`);
    if (isOpening(piece)) depth += 1;
  }
  return printable(lines.join("\n"));
}

function isOpening(piece: string): boolean {
  return /^<[^/?]/.test(piece) && !piece.endsWith("/>") && !/<\/[^>]*>$/.test(piece);
}

/** Control characters could move the cursor or recolour the terminal. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "�");
}
