/** Billing panels for tests: the built modules, run by PHP with stand-ins of the panels' own classes. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Scope } from "../harness/database.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { eventually, repository } from "../harness/running-system.ts";

export const skip = missingPackage();

function missingPackage(): string | false {
  if (spawnSync("php", ["--version"]).status !== 0) return "php-cli is not installed";
  return spawnSync("php", ["-r", "curl_version();"]).status !== 0 && "php-curl is not installed";
}

export interface Running<T> {
  child: ChildProcess;
  answered: Promise<T>;
}

export interface Order {
  order_code: string;
  kind: string;
  status: string;
}

const pages = { whmcs: "docs/whmcs.md", fossbilling: "docs/fossbilling.md" };

/** Installs the modules for a panel in an empty folder, with the commands of its page. */
export function installModules(scope: Scope, panel: keyof typeof pages): string {
  const root = mkdtempSync(join(tmpdir(), "deedhouse-panel-"));
  scope.after(async () => rmSync(root, { recursive: true }));
  const folder = join(root, panel);
  mkdirSync(folder);
  const [, commands = ""] = /```sh\n(.*?)```/s.exec(readFileSync(join(repository, pages[panel]), "utf8")) ?? [];
  const script = commands.replaceAll("/tmp/modules", join(root, "modules")).replaceAll(`/var/www/${panel}`, folder);
  const ended = spawnSync("bash", ["-euc", script], { cwd: repository, encoding: "utf8" });
  assert.equal(ended.status, 0, ended.stderr);
  return folder;
}

/** Runs a stand-in with a call, and parses what it prints. */
export function runPhp<T>(standIn: string, call: object): Running<T> {
  const child = spawn("php", ["-d", "display_errors=stderr", join(import.meta.dirname, standIn)]);
  child.stdin.end(JSON.stringify(call));
  const answered = (async () => {
    const [output, errors, [, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    if (signal) return undefined as T;
    assert.equal(errors, "");
    return JSON.parse(output) as T;
  })();
  return { child, answered };
}

/** All orders about a name, the newest first. */
export async function ordersOf(gateway: TestGateway, reseller: TestReseller, name: string, kind: string) {
  const { body } = await gateway.send(reseller, "GET", `/orders?domain_name=${name}&kind=${kind}`);
  return body as unknown as Order[];
}

/** How long the registry takes to decide about a pending command, unless a test decides. */
export const decisionMs = 3_600_000;

/** Waits until an order is pending at the registry, and lets the registry decide. */
export async function decide(gateway: TestGateway, reseller: TestReseller, name: string, kind: string): Promise<void> {
  const isPending = async () =>
    (await ordersOf(gateway, reseller, name, kind)).some(({ status }) => status === "Pending");
  await eventually("the order is pending", isPending);
  await gateway.registry.advance(decisionMs);
}

type Row = Record<string, unknown>;
type Tables = Record<string, Row[]>;
interface WhmcsSaid {
  answer: Record<string, unknown> & string & Row[];
  logged: string[];
}

/** A WHMCS with its tables. */
export function createWhmcs(folder: string, gateway: TestGateway, reseller: TestReseller, tables: Tables = {}) {
  const file = join(folder, `tables-${reseller.id}.json`);
  writeFileSync(file, JSON.stringify({ tbldomains: [], tblhosting: [], ...tables }));
  const modules = ["registrars/deedhouse/deedhouse.php", "servers/deedhousehosting/deedhousehosting.php"].map((path) =>
    join(folder, "modules", path),
  );
  const { hostname, port } = new URL(gateway.url);
  const secret = reseller.key.secret.reveal();
  const settings = {
    Url: gateway.url,
    ApiKey: reseller.key.id,
    ApiSecret: secret,
    PanelName: "shop",
    ContactRoles: "registrant,admin,tech",
    AutoRenew: "",
    WaitSeconds: "15",
    CaFile: "",
  };
  const server = {
    serverhostname: hostname,
    serverport: port,
    serversecure: false,
    serverid: 1,
    serverusername: reseller.key.id,
    serverpassword: secret,
    configoption2: "shop",
  };
  const start = (name: string, params: Row) =>
    runPhp<WhmcsSaid>("whmcs-stand-in.php", { modules, tables: file, function: name, params });
  const said = async (running: Running<WhmcsSaid>) => {
    const { answer, logged } = await running.answered;
    for (const line of logged) assert.ok(!line.includes(secret), line);
    return answer;
  };
  const startDomain = (name: string, domain: string, params: Row = {}) => {
    const [sld, ...rest] = domain.split(".");
    const all = { ...settings, ...orderParams, domainid: 7, sld, tld: rest.join("."), regperiod: 1, ...params };
    return start(`deedhouse_${name}`, all);
  };
  return {
    startDomain,
    domain: (name: string, domain: string, params: Row = {}) => said(startDomain(name, domain, params)),
    server: (name: string, domain: string, params: Row = {}) =>
      said(start(`deedhousehosting_${name}`, { ...server, domain, serviceid: 3, ...params })),
    read: (table: string) => (JSON.parse(readFileSync(file, "utf8")) as Tables)[table]!,
    write: (all: Tables) => writeFileSync(file, JSON.stringify({ tbldomains: [], tblhosting: [], ...all })),
  };
}

const person = {
  firstname: "Ada",
  lastname: "Byron",
  companyname: "",
  email: "ada@mail.example",
  address1: "Mews 7",
  address2: "",
  city: "London",
  state: "",
  postcode: "EC1A 1BB",
  fullphonenumber: "+44.2079460001",
};
const orderParams = {
  ...person,
  countrycode: "GB",
  ...Object.fromEntries(Object.entries(person).map(([name, value]) => [`admin${name}`, value])),
  admincountry: "GB",
  ns1: "ns1.dns-host.net",
  ns2: "ns2.dns-host.net",
};
