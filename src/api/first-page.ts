/** What a person who opens the service's address in a browser sees. Programs get the JSON of the edge there, as at every path. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { HttpAnswer } from "#front/http-server.ts";
import { shellCommand } from "#lib/shell-command.ts";
import { prefersHtml } from "#use-case/accept.ts";

/** Which answer is right depends on this header (RFC 9110 §12.5.5). */
const vary = { vary: "accept" };

export interface FirstPageOptions {
  /** Whether /docs has the documentation. */
  hasDocs: boolean;
  /** Whether names are registered at a sandbox registry only. */
  isSandbox: boolean;
}

export interface FirstPage {
  /** Whether the page is what this request asks for. */
  isFor(message: IncomingMessage): boolean;
  answer: HttpAnswer;
  /** Marks the JSON that others get at the same address. */
  besides(message: IncomingMessage, answer: HttpAnswer): HttpAnswer;
}

export function createFirstPage(options: FirstPageOptions): FirstPage {
  /** With a signature, it is a call of the API, which has one form. */
  const isNegotiated = ({ url, method, headers }: IncomingMessage) =>
    url === "/" &&
    (method === "GET" || method === "HEAD") &&
    headers.authorization === undefined &&
    headers["signature-input"] === undefined;
  const policy = `default-src 'none'; style-src '${hashOf(style)}'; img-src data:; base-uri 'none'; frame-ancestors 'none'`;
  return {
    isFor: (message) => isNegotiated(message) && prefersHtml(message.headers.accept),
    answer: {
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        ...vary,
      },
      body: pageOf(options),
    },
    besides: (message, answer) =>
      isNegotiated(message) ? { ...answer, headers: { ...answer.headers, ...vary } } : answer,
  };
}

const hashOf = (text: string) => `sha256-${createHash("sha256").update(text).digest("base64")}`;

const style = `
:root { color-scheme: light dark; --back: #fff; --soft: #f4f5f9; --line: #d9dce7; --text: #22252e; --quiet: #565c6b; --link: #3451b2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #1b1b1f; --soft: #252529; --line: #3a3a42; --text: #e3e3e8; --quiet: #a5a5b0; --link: #a8b1ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 48rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
h1 { display: flex; gap: .6rem; align-items: center; margin: 0 0 .5rem; font-size: 1.9rem; line-height: 1.2; }
h1 svg { width: 2rem; height: 2rem; flex: none; fill: var(--link); }
h2 { margin: 2.25rem 0 .5rem; font-size: 1.15rem; }
p { margin: .5rem 0; }
.lead { color: var(--quiet); font-size: 1.1rem; }
a { color: var(--link); }
ul { margin: 1.75rem 0 0; padding: 0; list-style: none; border-top: 1px solid var(--line); }
li { display: grid; grid-template-columns: 12rem 1fr; gap: .1rem 1rem; padding: .6rem 0; border-bottom: 1px solid var(--line); }
li span { color: var(--quiet); }
pre { margin: .75rem 0; padding: .9rem 1rem; border-radius: 8px; background: var(--soft); white-space: pre-wrap; }
p code { white-space: nowrap; }
code, pre { font: .875rem/1.6 ui-monospace, monospace; }
@media (max-width: 34rem) { main { padding-top: 2rem; } li { grid-template-columns: 1fr; } }
`;

const logo = `<svg viewBox="0 0 32 32" aria-hidden="true"><path d="M16 3 3 13v16h9v-9h8v9h9V13z"/></svg>`;

const linkOf = ([path, name, what]: readonly [path: string, name: string, what: string]) =>
  `<li><a href="${path}">${name}</a><span>${what}</span></li>`;

const docsLinks = [
  ["/docs/start", "Quick start", "A first signed request, in your language"],
  ["/docs/", "Documentation", "Concepts, every call, every error, client libraries"],
  ["/docs/signing", "Signatures", "How a request is signed, and what to do if it is refused"],
] as const;
const documentLink = ["/openapi.json", "openapi.json", "The whole API for programs, as OpenAPI 3.1"] as const;

function pageOf({ hasDocs, isSandbox }: FirstPageOptions): string {
  const links = [...(hasDocs ? docsLinks : []), documentLink];
  const notBuilt = "<p>The documentation is not built here. In the clone, <code>npm run docs</code> builds it.</p>";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Deedhouse</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>${logo}Deedhouse</h1>
<p class="lead">Domain names and hosting accounts behind one signed REST API. It answers at this address.</p>
<ul>${links.map(linkOf).join("")}</ul>
${hasDocs ? "" : notBuilt}
${isSandbox ? sandboxText(hasDocs) : ""}
</main>
</body>
</html>
`;
}

const sandboxText = (hasDocs: boolean) => `<h2>First commands</h2>
<p>In a terminal where the line with <code>export</code> was run that the service printed at its start:</p>
<pre>${shellCommand} domains register hello.example --wait
${shellCommand} hosting create hello.example --pack 14490 --generate-password --wait
${shellCommand} doctor</pre>
<h2>Test your integration</h2>
<p>This is a sandbox: everything works, and nothing costs money. Some names fail on purpose, such as <code>taken-1.example</code> and
<code>pending-never-1.example</code>. You can also move the registry’s clock, and make it misbehave.${
  hasDocs ? ` <a href="/docs/testing">Test your integration</a> says how.` : ""
}</p>`;
