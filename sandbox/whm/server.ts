/**
 * A stub of a cPanel & WHM server, for tests of the driver: WHM API 1 as api.docs.cpanel.net describes it, with a real web
 * server and, if ProFTPD is installed, a real FTP server behind it. It has never been compared with a real panel.
 */

import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { loadCertificate } from "../registry/certificates.ts";
import { Accounts } from "./accounts.ts";
import { type Fault, Faults } from "./faults.ts";
import { type FtpServer, startFtp } from "./ftp.ts";
import { checkForm, type Panel, Refused, runUapi, whmFunctions } from "./functions.ts";
import { createWebServer } from "./web.ts";

/** A request as it arrived. */
export interface RecordedRequest {
  url: string;
  body: string;
  /** The parameters of the function of WHM or UAPI. */
  name: string;
}

export interface WhmStub {
  url: string;
  /** PEM file: the CA of the certificate of the panel's API and FTP server. */
  caFile: string;
  webPort: number;
  /** Undefined without an FTP server. */
  ftpPort: number | undefined;
  accounts: Accounts;
  packages: string[];
  requests: RecordedRequest[];
  fault(fault: Fault): Promise<void>;
  close(): Promise<void>;
}

export interface WhmStubOptions {
  user: string;
  token: string;
  /** Whether to start an FTP server; see `cannotServeFtp`. */
  servesFtp: boolean;
  /** Whether its FTP server can read `$2b$` hashes. Default true. */
  readsBcrypt?: boolean;
}

export async function startWhmStub({ user, token, servesFtp, readsBcrypt = true }: WhmStubOptions): Promise<WhmStub> {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-whm-"));
  // FTP sessions need access to it as their account.
  chmodSync(folder, 0o755);
  const homes = join(folder, "homes");
  mkdirSync(homes);
  const { cert, key, caFile } = await loadCertificate(join(folder, "tls"));
  const accounts = new Accounts(homes);
  const faults = new Faults();
  const requests: RecordedRequest[] = [];
  const tls = { certFile: join(folder, "tls", "server.pem"), keyFile: join(folder, "tls", "server-key.pem") };
  const ftp: FtpServer | undefined = servesFtp ? await startFtp(folder, accounts, tls, readsBcrypt) : undefined;
  const panel: Panel = {
    ...{ accounts, packages: ["default"], owner: user },
    applyFtp: () => ftp?.apply(),
    endFtpSessions: (account) => ftp?.endSessions(account),
  };
  const api = createServer({ cert, key }, (request, response) => {
    // Not caught, so that a defect of the stub ends the test.
    void serve({ panel, faults, requests, authorization: `whm ${user}:${token}` }, request, response);
  });
  const web = createWebServer(accounts);
  await Promise.all([listening(api), listening(web)]);
  return {
    ...{ accounts, requests, caFile, packages: panel.packages, ftpPort: ftp?.port },
    url: `https://127.0.0.1:${(api.address() as AddressInfo).port}`,
    webPort: (web.address() as AddressInfo).port,
    fault: (fault) => faults.add(fault),
    async close() {
      await ftp?.close();
      await Promise.all([api, web].map(closed));
      rmSync(folder, { recursive: true });
    },
  };
}

interface Serving {
  panel: Panel;
  faults: Faults;
  requests: RecordedRequest[];
  authorization: string;
}

async function serve(serving: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { panel, faults, requests, authorization } = serving;
  const [, called = ""] = /^\/json-api\/([a-z_]+)$/.exec(request.url ?? "") ?? [];
  const body = await text(request);
  const { "api.version": version, ...form } = Object.fromEntries(new URLSearchParams(body));
  const name = called === "uapi_cpanel" ? `${form["cpanel.module"]}::${form["cpanel.function"]}` : called;
  requests.push({ url: request.url ?? "", body, name });
  const end = (status: number, content: string) =>
    response.writeHead(status, { "content-type": "application/json" }).end(content);
  if (request.headers.authorization !== authorization)
    return void end(403, '{"cpanelresult":{"error":"Access denied"}}');
  const isForm = request.headers["content-type"] === "application/x-www-form-urlencoded";
  const isAsked = request.method === "POST" && isForm && called !== "" && version === "1";
  const fault = faults.take(name);
  const run = () =>
    isAsked ? answerTo(panel, called, form) : refusal(called, "Send a POST with a form of version 1.");
  if (fault === undefined) return void end(200, JSON.stringify(run()));
  if (fault.moment === "after") run();
  fault.met();
  if (fault.manner === "cut") request.socket.destroy();
  else if (fault.manner === "error") end(503, "<html>Service Unavailable</html>");
  else if (fault.manner === "redirect") response.writeHead(307, { location: request.url }).end();
  else if (fault.manner === "garbage") end(200, `{"metadata": ${body.slice(0, 100)}`);
  else if (fault.manner === "refusal")
    end(200, JSON.stringify(refusal(called, "(XID abc123) An unknown error occurred.")));
}

function answerTo(panel: Panel, called: string, form: Record<string, string>): unknown {
  try {
    if (called === "uapi_cpanel") return answer(called, 1, "OK", runUapi(panel, form));
    const found = whmFunctions[called];
    if (!found) throw new Refused(`Unknown app (“${called}”) requested for this version (1) of the API.`);
    checkForm(found.parameters, form);
    return answer(called, 1, "OK", found.run(panel, form));
  } catch (error) {
    if (error instanceof Refused) return refusal(called, error.message);
    throw error;
  }
}

function answer(command: string, result: 0 | 1, reason: string, data?: unknown) {
  return { metadata: { version: 1, result, reason, command }, ...(data !== undefined && { data }) };
}

function refusal(command: string, reason: string) {
  return answer(command, 0, reason);
}

async function listening(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}

async function closed(server: Server): Promise<void> {
  const done = once(server.close(), "close");
  server.closeAllConnections();
  await done;
}
