/** Pieces of Markdown, for pages that VitePress turns into templates of Vue. */

/** A text of the API's description, which has Markdown's backticks and nothing else: outside of them nothing is markup. */
export function prose(text: string): string {
  const parts = text.split(/(`[^`]*`)/);
  const escaped = parts.map((part, index) =>
    index % 2 === 1 ? part : part.replace(/[<>{}*_[\]]/g, (sign) => `&#${sign.codePointAt(0)};`),
  );
  return escaped.join("");
}

/** A cell cannot contain a line break or a bar. */
const cell = (text: string) => text.replaceAll("\n", " ").replaceAll("|", "\\|");

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

export const code = (text: unknown) => `\`${String(text)}\``;

export const jsonBlock = (value: unknown) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

/** The parts that there are, with an empty line between them. */
export const blocks = (...parts: (string | false | undefined)[]) => parts.filter(Boolean).join("\n\n");
