import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig } from "vitepress";
import { adaptLinks, labelCells } from "./markdown.mts";

interface Audience {
  text: string;
  sections: { text: string; isBrief?: boolean; entries: { text: string; page: string }[] }[];
}

/** Written by bin/docs/write-pages.ts, as the pages are. */
const pages = fileURLToPath(new URL("../pages", import.meta.url));
const siteMap: Audience[] = JSON.parse(readFileSync(`${pages}/site-map.json`, "utf8"));

export default defineConfig({
  title: "Deedhouse",
  description: "Domain names and hosting accounts behind one signed REST API",
  lang: "en",
  base: "/docs/",
  cleanUrls: true,
  srcDir: "pages",
  // The pages as Markdown, which are served as they are.
  srcExclude: ["public/**"],
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: "/docs/favicon.svg" }],
    ["link", { rel: "alternate", type: "text/plain", href: "/docs/llms.txt", title: "llms.txt" }],
  ],
  transformHead: ({ page }) =>
    page === "404.md" ? [] : [["link", { rel: "alternate", type: "text/markdown", href: `/docs/${page}` }]],
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    // Each of their colours has a contrast of at least 4.5 on the background of code.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    languageAlias: { haproxy: "ini" },
    config(md) {
      md.core.ruler.push("adapt-links", ({ tokens, env }) => adaptLinks(tokens, env.relativePath));
      md.core.ruler.push("label-cells", ({ tokens }) => labelCells(tokens));
    },
  },
  themeConfig: {
    // All words must be there: a code like domain_not_found is three words.
    search: {
      provider: "local",
      options: {
        miniSearch: { searchOptions: { combineWith: "AND" } },
        // The name of the button is what it shows (style.css hides the theme's own keys).
        translations: { button: { buttonText: "Search (Ctrl K)", buttonAriaLabel: "Search (Ctrl K)" } },
      },
    },
    outline: [2, 4],
    nav: [
      { text: "Develop", link: "/start", activeMatch: "^/(start|concepts|api|reference)" },
      { text: "Operate", link: "/operating", activeMatch: "^/(operating|registries|ote|hosting|security)" },
      { text: "Contribute", link: "/architecture", activeMatch: "^/(architecture|contributing|decisions)" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: siteMap.map(groupOf),
  },
});

function groupOf({ text, sections }: Audience): DefaultTheme.SidebarItem {
  const items = sections.map(({ text, isBrief, entries }) => ({
    text,
    items: (isBrief ? entries.slice(0, 1) : entries).map(({ text, page }) => ({
      text,
      link: `/${page.replace(/(^|\/)index$/, "$1")}`,
    })),
  }));
  const [only] = items;
  return items.length === 1 && only?.items.length === 1 ? only.items[0]! : { text, items };
}
