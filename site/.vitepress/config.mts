import { createRequire } from "node:module";
import { posix } from "node:path";
import { defineConfig } from "vitepress";

const { resolve } = createRequire(import.meta.url);

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
  srcDir: "../docs",
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
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Quick start", link: "/start" },
      { text: "API", link: "/api" },
      { text: "Operator's guide", link: "/operating" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: [
      {
        text: "Start",
        items: [
          { text: "Quick start", link: "/start" },
          { text: "Concepts", link: "/concepts" },
        ],
      },
      {
        text: "Reference",
        items: [
          { text: "API", link: "/api" },
          { text: "API under /v2", link: "/api-v2" },
          { text: "Signatures", link: "/signing" },
          { text: "Errors", link: "/errors" },
          { text: "Assistants (MCP)", link: "/mcp" },
        ],
      },
      {
        text: "Operator's guide",
        items: [
          { text: "Operating", link: "/operating" },
          { text: "Registries", link: "/registries" },
          { text: "Certification tests", link: "/ote" },
          { text: "Renewals", link: "/renewals" },
          { text: "Changes of names", link: "/changes" },
          { text: "Hosting", link: "/hosting" },
          { text: "Abuse cases", link: "/abuse-cases" },
          { text: "Security", link: "/security" },
          { text: "States of orders", link: "/states" },
          { text: "Faults that were tried", link: "/faults" },
        ],
      },
      { text: "Changelog", link: "/changelog" },
    ],
  },
  vite: {
    // The pages are outside of this folder, so the packages that they need are not found from there.
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: resolve("vue/server-renderer") },
        { find: /^vue$/, replacement: resolve("vue/dist/vue.runtime.esm-bundler.js") },
      ],
    },
  },
});

/** Pages link to files of the repository that the site does not have: only the text of such links stays. */
function adaptLinks(tokens: Token[], page: string): void {
  let isOut = false;
  for (const token of tokens) {
    const target = token.attrs?.find(([name]) => name === "href");
    if (token.type === "link_open" && target) {
      // The changelog is included from the folder above.
      if (page === "changelog.md") target[1] = target[1].replace(/^docs\//, "./");
      isOut = target[1].startsWith(".") && posix.join(posix.dirname(page), target[1]).startsWith("../");
    }
    if (isOut && token.type.startsWith("link_")) Object.assign(token, { tag: "span", attrs: null });
    if (token.type === "link_close") isOut = false;
  }
}
