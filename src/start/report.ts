import { shellCommand } from "#lib/shell-command.ts";
import type { Seeded } from "#start/seed.ts";

/** The addresses of everything that runs. */
export interface Running {
  url: string;
  key: Seeded["key"];
  databaseUrl: string;
  ftp: { host: string; port: number };
  web: { host: string; port: number };
  dns: { host: string; port: number };
  /** The first is the one that the ready file shows as `registry`. */
  registries: readonly RunningRegistry[];
  /** The ports where each role shows its metrics, and whether it is ready. */
  metrics: Record<"api" | "worker" | "node", number>;
  pids: Record<string, number | undefined>;
}

interface RunningRegistry {
  id: string;
  host: string;
  port: number;
  controlPort: number;
  caFile: string;
  registrarId: string;
  password: string;
  suffixes: readonly string[];
}

/** The content of the ready file. It contains the sandbox's secrets, so it is written only on request. */
export function readyDocument(running: Running) {
  const { url, key, databaseUrl, ftp, web, dns, registries, metrics, pids } = running;
  return {
    url,
    metrics_url: metricsUrl(metrics.api),
    metrics_urls: Object.fromEntries(Object.entries(metrics).map(([role, port]) => [role, metricsUrl(port)])),
    api_key: key.id,
    api_secret: key.secret.reveal(),
    database_url: databaseUrl,
    ftp,
    web,
    dns,
    registry: registryDocument(registries[0]!),
    registries: Object.fromEntries(registries.map((registry) => [registry.id, registryDocument(registry)])),
    pids,
  };
}

const metricsUrl = (port: number) => `http://127.0.0.1:${port}/metrics`;

function registryDocument({ host, port, controlPort, caFile, registrarId, password, suffixes }: RunningRegistry) {
  return { host, port, control_port: controlPort, ca_file: caFile, registrar_id: registrarId, password, suffixes };
}

/** What a person at the terminal needs next. */
export function greeting({ key, isNew }: Seeded, running: Running, dataDir: string): string {
  const { url, ftp, web, dns, registries, pids } = running;
  const at = ({ host, port }: { host: string; port: number }) => `${host}:${port}`;
  const lines = [
    "Deedhouse is running. Ctrl-C stops it.",
    "",
    `  API             ${url} (also in a browser)`,
    `  documentation   ${url}/docs/`,
    `  FTP             ${at(ftp)}`,
    `  DNS             ${at(dns)}`,
    `  web sites       http://<identifier>.localhost:${web.port}/`,
    ...registries.map((registry) => {
      const suffixes = registry.suffixes.map((suffix) => `.${suffix}`).join(" and ");
      return `  registry (EPP)  ${at(registry)}, names under ${suffixes}, control port ${registry.controlPort}`;
    }),
    `  PostgreSQL      ${new URL(running.databaseUrl).host}`,
    `  data            ${dataDir} (logs in ${dataDir}/logs)`,
    `  processes       ${Object.entries(pids)
      .map(([name, pid]) => `${name} ${pid}`)
      .join(", ")}`,
    "",
    `  API key         ${key.id}`,
    isNew
      ? `  API secret      ${key.secret.reveal()} (shown only once)`
      : `  API secret      shown at the first start; another key: ${shellCommand} key create --account sandbox`,
    "",
    shellCommand.startsWith("npx") ? "Try it in another terminal, in this folder:" : "Try it in another terminal:",
    "",
    `  export DEEDHOUSE_URL=${url} DEEDHOUSE_API_KEY=${key.id} DEEDHOUSE_API_SECRET=${isNew ? key.secret.reveal() : "<the secret>"}`,
    `  ${shellCommand} domains register hello.example --wait`,
    `  ${shellCommand} hosting create hello.example --pack 14490 --generate-password --wait`,
    "",
    ...testingTools(url, registries[0]!),
    "",
  ];
  return lines.join("\n");
}

/** What a sandbox has for the tests of a reseller's program. */
function testingTools(url: string, { controlPort }: RunningRegistry): string[] {
  const control = `http://127.0.0.1:${controlPort}`;
  return [
    `Test your integration (${url}/docs/testing):`,
    "",
    `  ${shellCommand} domains register taken-1.example   # refused; other names end in other ways`,
    `  curl -X POST ${control}/pause     # the registry is down until /resume`,
    `  curl -X POST ${control}/resume`,
    `  curl -d '{"advanceDays": 30}' ${control}/clock   # a month passes at the registry`,
    `  curl ${control}/                  # everything else that it can do: faults, messages, decisions`,
  ];
}
