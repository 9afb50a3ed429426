/** Serves the documentation under /docs, from the files that `npm run docs` builds. It needs no signature. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { HttpAnswer } from "#front/http-server.ts";

const builtFolder = fileURLToPath(new URL("../../site/dist", import.meta.url));
const base = "/docs/";

const typeByExtension: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};
const compressed = [".css", ".html", ".js", ".json", ".md", ".svg", ".txt"];

interface SiteFile {
  headers: Record<string, string>;
  body: Buffer;
  gzipped: Buffer | undefined;
}

export interface DocsSite {
  /** Whether a request is for the documentation. */
  isFor(message: IncomingMessage): boolean;
  answer(message: IncomingMessage): Promise<HttpAnswer>;
}

/** Whether the documentation has been built. */
export const hasDocsSite = () => existsSync(join(builtFolder, "index.html"));

/** The files, about 8 MB, are read at the first request, and kept. @param folder the built site */
export function createDocsSite(folder = builtFolder): DocsSite {
  let loading: Promise<Map<string, SiteFile>> | undefined;
  return {
    isFor: ({ method, url = "" }) => (method === "GET" || method === "HEAD") && /^\/docs(\/|\?|$)/.test(url),
    async answer({ url = "", headers }) {
      const path = url.replace(/\?.*/s, "");
      if (path === "/docs") return { status: 308, headers: { location: base } };
      loading ??= loadSite(folder);
      return answerFile(await loading, path.slice(base.length), headers);
    },
  };
}

function answerFile(
  site: Map<string, SiteFile>,
  path: string,
  { "accept-encoding": encodings = "", "if-none-match": known }: IncomingMessage["headers"],
): HttpAnswer {
  const file = site.get(path) ?? site.get(path === "" || path.endsWith("/") ? `${path}index.html` : `${path}.html`);
  const shown = file ?? site.get("404.html");
  if (!shown) return notBuilt;
  const { headers, body, gzipped } = shown;
  if (file && known === headers.etag) return { status: 304, headers };
  const status = file ? 200 : 404;
  if (!gzipped || !/\bgzip\b/.test(String(encodings))) return { status, headers, body };
  return { status, headers: { ...headers, "content-encoding": "gzip" }, body: gzipped };
}

const notBuilt: HttpAnswer = {
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "The documentation is not built here. Build it with: npm run docs\n",
};

/** By their paths below the base. None if the site is not built. */
async function loadSite(folder: string): Promise<Map<string, SiteFile>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(
    paths.map(async (path) => {
      const name = path.slice(folder.length + 1).replaceAll(sep, "/");
      return [name, await loadFile(name, await readFile(path))] as const;
    }),
  );
  return new Map(files);
}

async function loadFile(name: string, body: Buffer): Promise<SiteFile> {
  const extension = extname(name);
  // The names of assets change with their contents.
  const isAsset = name.startsWith("assets/");
  return {
    body,
    gzipped: compressed.includes(extension) ? await promisify(gzip)(body) : undefined,
    headers: {
      "content-type": typeByExtension[extension] ?? "application/octet-stream",
      "cache-control": isAsset ? "public, max-age=31536000, immutable" : "no-cache",
      etag: `"${sha256(body, "hex").slice(0, 32)}"`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      ...(extension === ".html" && { "content-security-policy": policyOf(body.toString("utf8")) }),
    },
  };
}

/** Only scripts of the site run, and those that stand in the page itself. Highlighted code has its colours in `style`. */
function policyOf(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(([, script]) => script ?? "");
  const hashes = inline.map((script) => `'sha256-${sha256(script, "base64")}'`);
  return [
    "default-src 'self'",
    `script-src 'self' ${hashes.join(" ")}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const sha256 = (data: Buffer | string, encoding: "hex" | "base64") =>
  createHash("sha256").update(data).digest(encoding);
