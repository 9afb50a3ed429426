/** nginx and haproxy before apis, as processes, with the examples of the operator's page. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scope } from "./database.ts";

const page = new URL("../../docs/operating.md", import.meta.url);

/** Why a test must be skipped; undefined when the program is installed. */
export function whyNot(program: "nginx" | "haproxy" | "curl", option: string): string | false {
  return spawnSync(program, [option]).error !== undefined && `${program} is not installed`;
}

/** The page's examples in a language, in their order. */
export async function pageExamples(language: "nginx" | "haproxy"): Promise<string[]> {
  const found = [...(await readFile(page, "utf8")).matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))];
  assert.notEqual(found.length, 0, `no example of ${language}`);
  return found.map(([, text]) => text!);
}

/** A folder for a program's files, which is removed when the program has ended. */
export const proxyFolder = () => mkdtemp(join(tmpdir(), "deedhouse-proxy-"));

/** @param http what stands in nginx's block `http` */
export async function runNginx(scope: Scope, folder: string, http: string): Promise<void> {
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const settings = `daemon off; pid ${folder}/pid; error_log ${folder}/log; worker_processes 1; events {}
    http { access_log off; ${places.join(" ")} ${http} }`;
  await writeFile(join(folder, "nginx.conf"), settings);
  run(scope, folder, "nginx", ["-c", join(folder, "nginx.conf"), "-e", join(folder, "log")]);
}

export async function runHaproxy(scope: Scope, folder: string, settings: string): Promise<void> {
  await writeFile(join(folder, "haproxy.cfg"), settings);
  run(scope, folder, "haproxy", ["-db", "-f", join(folder, "haproxy.cfg")]);
}

function run(scope: Scope, folder: string, program: string, args: string[]): void {
  const child = spawn(program, args, { stdio: "ignore" });
  const exited = once(child, "exit");
  scope.after(async () => {
    child.kill("SIGTERM");
    await exited;
    await rm(folder, { recursive: true });
  });
}
