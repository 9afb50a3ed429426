import { posix } from "node:path";

/** The part of markdown-it's token that is used here. */
export interface Token {
  type: string;
  tag: string;
  attrs: [name: string, value: string][] | null;
  content: string;
  children: Token[] | null;
  attrSet(name: string, value: string): void;
}

/** Pages link to files of the repository that the site does not have: only the text of such links stays. */
export function adaptLinks(tokens: readonly Token[], page: string): void {
  for (const { children } of tokens) {
    let isOut = false;
    for (const token of children ?? []) {
      const target = token.attrs?.find(([name]) => name === "href");
      if (token.type === "link_open" && target) {
        isOut = target[1].startsWith(".") && posix.join(posix.dirname(page), target[1]).startsWith("../");
      }
      if (isOut && token.type.startsWith("link_")) Object.assign(token, { tag: "span", attrs: null });
      if (token.type === "link_close") isOut = false;
    }
  }
}

/** The parts of a table keep their roles when a phone shows its rows as blocks (style.css). */
const roles: Readonly<Record<string, string>> = {
  table_open: "table",
  thead_open: "rowgroup",
  tbody_open: "rowgroup",
  tr_open: "row",
  th_open: "columnheader",
  td_open: "cell",
};

/** Each cell gets the name of its column, which a phone shows beside it. */
export function labelCells(tokens: readonly Token[]): void {
  let names: string[] = [];
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    const role = roles[token.type];
    if (role) token.attrSet("role", role);
    if (token.type === "table_open") names = [];
    if (token.type === "tr_open") column = 0;
    if (token.type === "th_open") names.push(textOf(tokens[index + 1]));
    if (token.type === "td_open") token.attrSet("data-label", names[column++] ?? "");
  }
}

const textOf = (inline: Token | undefined) => (inline?.children ?? []).map(({ content }) => content).join("");
