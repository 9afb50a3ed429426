const end = "<!-- end -->";

/**
 * Replaces a printed part of a page: the text between `<!-- printed: NAME -->` and `<!-- end -->`.
 * @throws when the page has no such part
 */
export function replacePrinted(page: string, name: string, printed: string): string {
  const [head, rest] = page.split(`<!-- printed: ${name} -->\n`);
  const endsAt = rest?.indexOf(end) ?? -1;
  if (endsAt < 0) throw new Error(`the page has no place for "${name}"`);
  return `${head}<!-- printed: ${name} -->\n${printed}\n${rest!.slice(endsAt)}`;
}
