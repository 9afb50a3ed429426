/** The site for programs that read Markdown: llms.txt (llmstxt.org) with a link to each page, and the pages themselves. */
import { posix } from "node:path";
import type { Audience } from "./site-map.ts";

export interface MarkdownPage {
  /** Without ".md", from the root of the site. */
  name: string;
  text: string;
}

const base = "/docs/";

/** The list of the sidebar, with the first sentence of each page. @param pages every page of the list */
export function llmsText(summary: string, audiences: readonly Audience[], pages: readonly MarkdownPage[]): string {
  const texts = new Map(pages.map(({ name, text }) => [name, text]));
  const lineOf = (page: string) => {
    const text = texts.get(page) ?? "";
    return `- [${titleOf(text)}](${base}${page}.md): ${firstSentence(text)}`;
  };
  const groups = audiences.map(({ text, sections }) => {
    const lines = sections.flatMap(({ entries }) => entries.map(({ page }) => lineOf(page)));
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  return `# Deedhouse\n\n> ${summary}\n\n${groups.join("\n\n")}\n`;
}

/** A page as it is offered next to its HTML: without what only the site's builder reads, and without links out of the site. */
export function plainPage({ name, text }: MarkdownPage): string {
  return text
    .replace(/^---\n.*?\n---\n+/s, "")
    .replace(/^<!-- .*? -->\n+/gm, "")
    .replace(/(?<!!)\[([^\]]+)\]\((\.[^)#\s]*)[^)]*\)/g, (link, shown: string, target: string) =>
      posix.join(posix.dirname(name), target).startsWith("../") ? shown : link,
    )
    .trimStart();
}

export const titleOf = (text: string) => /^# (.*)$/m.exec(text)?.[1] ?? "";

/** "Known attacks on FTP servers, and what happens here.", without links. */
function firstSentence(text: string): string {
  const parts = (text.split(/^# .*$/m)[1] ?? "").trim().split(/\n\s*\n/);
  const paragraph = parts.find((part) => /^[A-Za-z`[*"(]/.test(part)) ?? "";
  const plain = paragraph
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "")
    .replace(/\s+/g, " ");
  return /^.*?[.!?](?=\s|$)/.exec(plain)?.[0] ?? plain;
}
