/** Every page of the documentation in a browser, as on a desk and as on a phone, in light and in dark colours. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startTestGateway } from "../harness/gateway.ts";
import { chromiumIsMissing, startChromium, type Tab } from "./chromium.ts";

const site = fileURLToPath(new URL("../../site", import.meta.url));
const built = `${site}/dist`;
/** Rules for web content (WCAG) and good practice, as axe-core judges them: https://github.com/dequelabs/axe-core */
const axePath = `${site}/node_modules/axe-core/axe.min.js`;
const tabsAtOnce = 2;

const skip = !existsSync(`${built}/index.html`)
  ? "the site is not built: npm run docs"
  : chromiumIsMissing() && "chromium is not installed";

const pages = skip
  ? []
  : readdirSync(built, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".html"))
      .map((name) => name.replace(/(^|\/)index\.html$/, "$1").replace(/\.html$/, ""))
      .toSorted();

/** What depends on colours; everything else is the same in the dark. */
const colourRules = ["color-contrast", "link-in-text-block"];
const views = [1280, 390].flatMap((width) => [false, true].map((isDark) => ({ width, isDark })));

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

const free: Tab[] = [];
const url = skip ? "" : await start();

async function start(): Promise<string> {
  const chromium = await startChromium();
  after(() => chromium.close());
  for (let index = 0; index < tabsAtOnce; index++) free.push(await chromium.newTab());
  const gateway = await startTestGateway({ after }, { worker: false });
  return gateway.url;
}

describe("in a browser", { skip, concurrency: tabsAtOnce }, () => {
  const axe = skip ? "" : readFileSync(axePath, "utf8");
  for (const page of pages) {
    test(`/docs/${page} can be read by everybody, on a desk and on a phone, in light and in dark`, async () => {
      const tab = free.pop() ?? assert.fail("a test before this one has not released its tab");
      try {
        assert.deepEqual(await problemsOf(tab, `${url}/docs/${page}`, axe), []);
      } finally {
        free.push(tab);
      }
    });
  }
});

async function problemsOf(tab: Tab, address: string, axe: string): Promise<string[]> {
  await tab.open(address);
  await tab.evaluate(`${axe}; undefined`);
  const problems: string[] = [];
  for (const view of views) {
    await tab.setView(view);
    const at = `${view.width} px, ${view.isDark ? "dark" : "light"}`;
    const found = await tab.evaluate<string[]>(widthProblems);
    const runOnly = view.isDark ? { type: "rule", values: colourRules } : undefined;
    const options = JSON.stringify({ runOnly, resultTypes: ["violations"] });
    const { violations } = await tab.evaluate<{ violations: Violation[] }>(`axe.run(document, ${options})`);
    const broken = violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
    );
    problems.push(...[...found, ...broken].map((text) => `${at}: ${text}`));
  }
  return [...problems, ...tab.takeErrors()];
}

/** An expression of the page: what does not fit into its width. */
const widthProblems = `(() => {
  const problems = [];
  if (document.documentElement.scrollWidth > innerWidth) {
    const parts = [...document.querySelectorAll(".VPContent *")];
    const wide = parts.find((part) => part.getBoundingClientRect().right > innerWidth);
    problems.push("the page scrolls sideways: " + wide?.outerHTML.slice(0, 200));
  }
  for (const table of innerWidth < 640 ? document.querySelectorAll("table") : []) {
    if (table.scrollWidth > table.clientWidth) problems.push("a table scrolls sideways: " + table.textContent.slice(0, 80));
  }
  return problems;
})()`;
