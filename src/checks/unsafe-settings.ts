/** What is well formed, and must not serve other people's names all the same. */
import { X509Certificate } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Config, secretVariables } from "#config.ts";
import { sandboxKeyId } from "#lib/sealed-secret.ts";
import { parseProfileFile } from "#registry/profile-files.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const othersMay = 0o007;
const groupMayWrite = 0o020;
const loopbackHost = /^(127(\.\d+){3}|::1|localhost)$/;
/** The name of every certificate authority that a sandbox registry makes (sandbox/registry/certificates.ts). */
const sandboxAuthority = "Deedhouse sandbox registry CA";

export function plainHttpMistakes({ plainHttp, apiHost }: Config): string[] {
  if (plainHttp !== "refused") return [];
  return [
    `DEEDHOUSE_API_HOST is "${apiHost}", and beyond loopback, everybody on the way can read plain HTTP: set DEEDHOUSE_TLS_CERTIFICATE_FILE and DEEDHOUSE_TLS_KEY_FILE, or DEEDHOUSE_TRUSTED_PROXIES if a proxy speaks TLS for the api, or DEEDHOUSE_ALLOW_PLAIN_HTTP=1 to take that risk`,
  ];
}

/** A key that a sandbox made is in a folder that was never meant to be kept secret. */
export function sandboxKeyMistakes({ masterKeys }: Config, environment: NodeJS.ProcessEnv): string[] {
  const file = environment.DEEDHOUSE_MASTER_KEY_FILE;
  // Sandboxes of earlier releases gave their key another id.
  const isBesideRegistrars = file !== undefined && existsSync(join(dirname(file), "registrars.json"));
  const isSandboxes = isBesideRegistrars || masterKeys.some((key) => key.startsWith(`${sandboxKeyId}:`));
  if (!isSandboxes) return [];
  return [`DEEDHOUSE_MASTER_KEY is a sandbox's: make one with: echo "1:$(openssl rand -hex 32)"`];
}

export function sandboxMistakes({ siteDomain }: Config, registries: readonly RegistryProfile[]): string[] {
  const site =
    siteDomain === "localhost"
      ? ["DEEDHOUSE_SITE_DOMAIN is localhost: set it to the domain under which customers' sites answer"]
      : [];
  return [...registries.flatMap(sandboxProfileMistakes), ...site];
}

function sandboxProfileMistakes({ id, host, ca }: RegistryProfile): string[] {
  const isSandboxes = new X509Certificate(ca).subject.includes(`CN=${sandboxAuthority}`);
  if (!isSandboxes && !loopbackHost.test(host)) return [];
  const why = isSandboxes ? "trusts a sandbox's certificate authority" : `is at ${host}`;
  return [
    `DEEDHOUSE_REGISTRIES_FILE: the profile ${id} ${why}, so its names are registered nowhere: take it out, or set DEEDHOUSE_DEPLOYMENT=sandbox`,
  ];
}

/** Files that contain what opens the database, its sealed values, the API or a registry. */
export function openFileMistakes(environment: NodeJS.ProcessEnv): string[] {
  const files = [
    ...Object.entries(environment)
      .filter(([name, path]) => secretVariables.test(name) && name.endsWith("_FILE") && path)
      .map(([name, path]): [string, string] => [name, path!]),
    ...profileFiles(environment.DEEDHOUSE_REGISTRIES_FILE),
  ];
  return files.flatMap(([name, path]) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & (othersMay | groupMayWrite)) === 0) return [];
    const who = (mode & othersMay) === 0 ? "its group can write" : "everybody on this machine can use";
    return [`${name}: ${who} ${path}, which holds secrets: chmod u=rw,g=r,o= ${path}`];
  });
}

/** The profiles, which contain passwords, and the keys that they name. */
function profileFiles(file: string | undefined): [string, string][] {
  if (!file) return [];
  const name = "DEEDHOUSE_REGISTRIES_FILE";
  try {
    const entries = parseProfileFile(file) as { keyFile?: string }[];
    const keys = entries.flatMap(({ keyFile }): [string, string][] =>
      typeof keyFile === "string" ? [[`${name}, keyFile`, resolve(file, "..", keyFile)]] : [],
    );
    return [[name, file], ...keys];
  } catch {
    // What is wrong with it is another mistake.
    return [[name, file]];
  }
}
