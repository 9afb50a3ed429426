/** The panel's web server: one site per account, at its main domain. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import type { Accounts } from "./accounts.ts";

export function createWebServer(accounts: Accounts): Server {
  return createServer((request, response) => {
    const answer = (status: number, body: string, headers = {}) => response.writeHead(status, headers).end(body);
    const host = (request.headers.host ?? "").replace(/:[0-9]+$/, "");
    const account = accounts.ofDomain(host);
    if (!account) return answer(404, "There is no site here.");
    if (account.suspended) return answer(302, "", { location: "/cgi-sys/suspendedpage.cgi" });
    const [, name = ""] = /^\/([A-Za-z0-9_-][A-Za-z0-9._-]*)?$/.exec(request.url ?? "") ?? [];
    try {
      answer(200, readFileSync(join(account.home, "public_html", name || "index.html"), "utf8"));
    } catch {
      answer(404, "There is no such page.");
    }
  });
}
