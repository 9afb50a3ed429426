import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig } from "vitepress";

/** Written by bin/docs/write-pages.ts. */
const pages = fileURLToPath(new URL("../pages", import.meta.url));

/** The part of markdown-it's token that is used here. */
interface Token {
  type: string;
  tag: string;
  attrs: [name: string, value: string][] | null;
}

export default defineConfig({
  title: "Deedhouse",
  description: "Domain names and hosting accounts behind one signed REST API",
  base: "/docs/",
  cleanUrls: true,
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/docs/favicon.svg" }]],
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    languageAlias: { haproxy: "ini" },
    config(md) {
      md.core.ruler.push("adapt-links", ({ tokens, env }) => {
        for (const { children } of tokens) adaptLinks(children ?? [], env.relativePath);
      });
    },
  },
  themeConfig: {
    // All words must be there: a code like domain_not_found is three words.
    search: { provider: "local", options: { miniSearch: { searchOptions: { combineWith: "AND" } } } },
    outline: [2, 3],
    nav: [
      { text: "Quick start", link: "/start" },
      { text: "Reference", link: "/reference/calls" },
      { text: "Operator's guide", link: "/operating" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: [
      group("Start", [
        ["Quick start", "start"],
        ["Concepts", "concepts"],
        ["Test your integration", "testing"],
      ]),
      group("The API", [
        ["Calls explained", "api"],
        ["The later form", "api-v2"],
        ["Signatures", "signing"],
        ["Changes of names", "changes"],
        ["Renewals", "renewals"],
        ["Errors", "errors"],
      ]),
      { text: "Reference", collapsed: false, items: JSON.parse(readFileSync(`${pages}/reference/pages.json`, "utf8")) },
      group("Client libraries", [
        ["TypeScript", "clients-typescript"],
        ["PHP", "clients-php"],
        ["Python", "clients-python"],
      ]),
      group("Billing panels", [
        ["WHMCS", "whmcs"],
        ["FOSSBilling", "fossbilling"],
      ]),
      group("Integrate", [
        ["Events", "events"],
        ["Webhooks", "webhooks"],
        ["MCP", "mcp"],
      ]),
      group("Operator's guide", [
        ["Operating", "operating"],
        ["Registries", "registries"],
        ["Certification tests", "ote"],
        ["Hosting nodes", "hosting"],
        ["Abuse cases", "abuse-cases"],
        ["Security", "security"],
      ]),
      group("How it is built", [
        ["States", "states"],
        ["Faults that were tried", "faults"],
      ]),
      { text: "Changelog", link: "/changelog" },
    ].filter(({ items }) => items?.length !== 0),
  },
});

/** The pages of a group that there are. */
function group(text: string, entries: [text: string, page: string][]): DefaultTheme.SidebarItem {
  const items = entries.filter(([, page]) => existsSync(`${pages}/${page}.md`));
  return { text, items: items.map(([text, page]) => ({ text, link: `/${page}` })) };
}

/** Pages link to files of the repository that the site does not have: only the text of such links stays. */
function adaptLinks(tokens: Token[], page: string): void {
  let isOut = false;
  for (const token of tokens) {
    const target = token.attrs?.find(([name]) => name === "href");
    if (token.type === "link_open" && target) {
      isOut = target[1].startsWith(".") && posix.join(posix.dirname(page), target[1]).startsWith("../");
    }
    if (isOut && token.type.startsWith("link_")) Object.assign(token, { tag: "span", attrs: null });
    if (token.type === "link_close") isOut = false;
  }
}
