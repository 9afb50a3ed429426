const indentation = "  ";

/**
 * A frame with a line for each element, as people read it. Only white space between elements is added: texts stay as they
 * are. What has comments or CDATA, where white space may be text, is left as it came.
 */
export function prettyXml(xml: string): string {
  if (/<!|\n\s*</.test(xml)) return printable(xml.trim());
  const lines: string[] = [];
  let depth = 0;
  for (const [piece] of xml.matchAll(
    /<\?.*?\?>|<([^\s/>]+)(?:"[^"]*"|'[^']*'|[^"'>])*>[^<]*<\/\1\s*>|<[^>]*>|[^<]+/g,
  )) {
    const isClosing = piece.startsWith("</");
    if (isClosing) depth -= 1;
    if (piece.trim() !== "") lines.push(`${indentation.repeat(Math.max(0, depth))}${piece.trim()}`);
    const isOpening = /^<[^/?]/.test(piece) && !piece.endsWith("/>") && !/<\/[^>]*>$/.test(piece);
    if (isOpening) depth += 1;
  }
  return printable(lines.join("\n"));
}

/** Control characters could move the cursor or recolour the terminal. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "�");
}
