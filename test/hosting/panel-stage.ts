/** A stub of a cPanel & WHM server, and its driver. */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { type CpanelDriverOptions, createCpanelDriver } from "#nodes/cpanel/driver.ts";
import type { HostingNode } from "#nodes/driver.ts";
import { startWhmStub, type WhmStub } from "../../sandbox/whm/server.ts";

export const panelToken = "TOKEN7QK2M9X4RHD8";
export const panelMarker = { installation: "a1b2c3d4", mailDomain: "ops.example" };

export interface PanelStage {
  stub: WhmStub;
  driver: HostingNode;
  /** A driver with other settings. */
  open(changes: Partial<CpanelDriverOptions>): HostingNode;
  /** Everything that drivers logged. */
  logged(): string;
}

export async function startPanel({ servesFtp = false, readsBcrypt = true } = {}): Promise<PanelStage> {
  const stub = await startWhmStub({ user: "reseller", token: panelToken, servesFtp, readsBcrypt });
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const open = (changes: Partial<CpanelDriverOptions>) =>
    createCpanelDriver({
      ...panelMarker,
      url: stub.url,
      user: "reseller",
      token: new Secret(panelToken),
      requestMs: 20_000,
      ca: readFileSync(stub.caFile, "utf8"),
      plan: undefined,
      ftp: { host: "127.0.0.1", port: stub.ftpPort ?? 0 },
      web: { host: "127.0.0.1", port: stub.webPort },
      siteDomain: "sites.test",
      clock: systemClock,
      random: systemRandom,
      log,
      usagePollMs: 50,
      ...changes,
    });
  return { stub, driver: open({}), open, logged: () => lines.join("") };
}

/** The status of a page; redirects are not followed. */
export async function panelPage({ webPort }: WhmStub, host: string, path: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const question = request({ host: "127.0.0.1", port: webPort, path, headers: { host }, agent: false }, (response) =>
    text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject),
  );
  question.on("error", reject).end();
  return promise;
}
