/** Writes what the documentation site is built from: the pages of docs/ with the changelog, and the reference of the API. */
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { apiDocument } from "#api/open-routes.ts";
import type { ApiDocument } from "./openapi.ts";
import { referencePages } from "./reference.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** @param folder is emptied */
export async function writePages(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await cp(`${root}/docs`, folder, { recursive: true });
  const changelog = await readFile(`${root}/CHANGELOG.md`, "utf8");
  await writeFile(`${folder}/changelog.md`, changelog.replaceAll("](docs/", "](./"));
  await nameLinkedPages(folder);
  await inlineDrawings(`${folder}/concepts.md`);
  await mkdir(`${folder}/reference`);
  const pages = referencePages(JSON.parse(JSON.stringify(apiDocument())) as ApiDocument);
  await Promise.all(pages.map(({ name, text }) => writeFile(`${folder}/reference/${name}.md`, text)));
  const sidebar = pages.map(({ name, title }) => ({ text: title, link: `/reference/${name}` }));
  await writeFile(`${folder}/reference/pages.json`, JSON.stringify(sidebar));
}

/** In the repository a link to a page shows its file, `[errors.md](errors.md)`; on the site it shows the page's title. */
async function nameLinkedPages(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
  const texts = await Promise.all(names.map((name) => readFile(`${folder}/${name}`, "utf8")));
  const titles = new Map(names.map((name, index) => [name, /^# (.*)$/m.exec(texts[index]!)?.[1]]));
  const named = (text: string) =>
    text.replace(/\[([\w-]+\.md)\](?=\()/g, (link, name: string) =>
      titles.get(name) ? `[${titles.get(name)}]` : link,
    );
  await Promise.all(names.map((name, index) => writeFile(`${folder}/${name}`, named(texts[index]!))));
}

/** A drawing in the page itself has the page's colours; its own are for where it stands alone. */
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
