/** Writes what the documentation site is built from: the pages of docs/ with those of the root, and the API's reference. */
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { apiDocument } from "#api/open-routes.ts";
import { llmsText, type MarkdownPage, plainPage, titleOf } from "./llms.ts";
import type { ApiDocument } from "./openapi.ts";
import { referencePages } from "./reference.ts";
import { type Entry, siteMap } from "./site-map.ts";
import { splitTests } from "./tested-attacks.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Files of the root that are also pages. */
const rootPages = { "CHANGELOG.md": "changelog", "ARCHITECTURE.md": "architecture", "CONTRIBUTING.md": "contributing" };
/** Pages whose drawings take the page's colours. */
const drawnPages = ["index", "concepts"];

/** @param folder is emptied */
export async function writePages(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await cp(`${root}/docs`, folder, { recursive: true });
  await copyRootPages(folder);
  const { forOperators, forContributors } = splitTests(await readFile(`${folder}/security.md`, "utf8"));
  await writeFile(`${folder}/security.md`, forOperators);
  await writeFile(`${folder}/tested-attacks.md`, forContributors);
  const decisions = await writeDecisions(`${folder}/decisions`);
  await nameLinkedPages(folder);
  await mkdir(`${folder}/reference`);
  const document = JSON.parse(JSON.stringify(apiDocument())) as ApiDocument;
  const reference = referencePages(document);
  await Promise.all(reference.map(({ name, text }) => writeFile(`${folder}/reference/${name}.md`, text)));
  await writeForPrograms(folder, {
    reference: reference.map(({ name, title }) => ({ text: title, page: `reference/${name}` })),
    decisions,
  });
  await Promise.all(drawnPages.map((name) => inlineDrawings(`${folder}/${name}.md`)));
}

async function copyRootPages(folder: string): Promise<void> {
  for (const [file, name] of Object.entries(rootPages)) {
    const text = await readFile(`${root}/${file}`, "utf8");
    const linked = Object.entries(rootPages).reduce(
      (before, [from, to]) => before.replaceAll(`](${from}`, `](./${to}.md`),
      text.replaceAll("](docs/", "](./"),
    );
    // A link to another file of the root leads out of the site.
    await writeFile(`${folder}/${name}.md`, linked.replace(/\]\((?![.#]|https?:)/g, "](../"));
  }
}

/** A page that lists the records. @returns it and the records, by their titles */
async function writeDecisions(folder: string): Promise<Entry[]> {
  const names = (await readdir(folder)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(`${folder}/${name}`, "utf8")));
  const list = names.map((name, index) => `${index + 1}. [${titleOf(texts[index]!)}](${name})`);
  const intro = "Each record has one choice that is not obvious: what was decided, why, and what was rejected.";
  await writeFile(`${folder}/index.md`, `# Decisions\n\n${intro}\n\n${list.join("\n")}\n`);
  const records = names.map((name, index) => ({
    text: titleOf(texts[index]!),
    page: `decisions/${name.replace(".md", "")}`,
  }));
  return [{ text: "All decisions", page: "decisions/index" }, ...records];
}

/** In the repository a link to a page shows its file, `[errors.md](errors.md)`; on the site it shows the page's title. */
async function nameLinkedPages(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
  const texts = await Promise.all(names.map((name) => readFile(`${folder}/${name}`, "utf8")));
  const titles = new Map(names.map((name, index) => [name, titleOf(texts[index]!)]));
  const named = (text: string) =>
    text
      .replace(/\[(?:docs\/)?([\w-]+\.md)\](?=\()/g, (link, name: string) =>
        titles.get(name) ? `[${titles.get(name)}]` : link,
      )
      .replace(/\]\(\.\.\/([A-Z]+\.md)/g, (link, file: string) =>
        file in rootPages ? `](./${rootPages[file as keyof typeof rootPages]}.md` : link,
      );
  await Promise.all(names.map((name, index) => writeFile(`${folder}/${name}`, named(texts[index]!))));
}

/** The sidebar as JSON, llms.txt with the same list, and every page as Markdown next to its HTML. */
async function writeForPrograms(
  folder: string,
  printed: { reference: readonly Entry[]; decisions: readonly Entry[] },
): Promise<void> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".md"));
  const pages = await Promise.all(
    files.map(async (file): Promise<MarkdownPage> => {
      const text = await readFile(`${folder}/${file}`, "utf8");
      return { name: file.replace(/\.md$/, ""), text };
    }),
  );
  const names = new Set(pages.map(({ name }) => name));
  const audiences = siteMap(printed, (page) => names.has(page));
  await writeFile(`${folder}/site-map.json`, JSON.stringify(audiences));
  const { description } = JSON.parse(await readFile(`${root}/package.json`, "utf8")) as { description: string };
  await writeFile(`${folder}/public/llms.txt`, llmsText(`${description}.`, audiences, pages));
  for (const page of pages) {
    const path = `${folder}/public/${page.name}.md`;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, plainPage(page));
  }
}

/** A drawing in the page takes the page's colours; the colours in its file are for where it stands alone. */
async function inlineDrawings(page: string): Promise<void> {
  const text = await readFile(page, "utf8");
  const names = [...text.matchAll(/^!\[[^\]]*\]\((drawings\/[\w-]+\.svg)\)$/gm)];
  const drawings = await Promise.all(names.map(([, name]) => readFile(`${root}/docs/${name}`, "utf8")));
  const inlined = names.reduce((before, [image], index) => {
    const svg = drawings[index]!.replace(/<style>.*?<\/style>\n?/s, "").trim();
    return before.replace(image, `<div class="drawing">\n${svg}\n</div>`);
  }, text);
  await writeFile(page, inlined);
}
