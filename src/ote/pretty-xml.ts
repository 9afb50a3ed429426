const indentation = "  ";
const tag = /<(?:"[^"]*"|'[^']*'|[^"'>])*>/.source;
/** An element without elements in it, on one line; any other tag; text. */
const pieces = new RegExp(`(?!</)${tag}(?<!/>)[^<]*</[^>]*>|${tag}|[^<]+`, "g");

/**
 * A frame with a line for each element, as people read it. Only white space between elements is added: texts stay as they
 * are. What has comments or CDATA, where white space may be text, is left as it came.
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
