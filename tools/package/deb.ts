/** `npm run package:deb`: the Debian package, made by dpkg-deb alone. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, lstat, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { renderAgentUnit } from "#nodes/install/units.ts";
import { defaultMachineSettings, nodeSettingsOf } from "#nodes/proftpd-nginx/machine-settings.ts";
import { installPackages, pathsBelow, sourceTime } from "./archive.ts";
import { readJson, repository, stage } from "./stage.ts";

const run = promisify(execFile);

/** Debian's names of the machines for which npm has a Node. */
const architectures: Partial<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const maintainer = "Deedhouse contributors <deedhouse@users.noreply.github.com>";
const ops = join(repository, "ops");
const kibibyte = 1024;

interface Packed {
  version: string;
  description: string;
  dependencies: Record<string, string>;
}

/** @returns the path of the package */
export async function buildDeb(folder: string): Promise<string> {
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`there is no package for ${process.arch}: use Linux on x64 or arm64`);
  const root = join(folder, "deb");
  await rm(root, { recursive: true, force: true });
  const program = join(root, "usr/lib/deedhouse");
  await stage(program, false);
  for (const part of [program, join(program, "mcp")]) {
    await installPackages(part);
    for (const name of ["npm-shrinkwrap.json", "package-lock.json"]) await rm(join(part, name), { force: true });
  }
  await addNode(program);
  await mkdir(join(root, "usr/bin"));
  await symlink("../lib/deedhouse/bin/deedhouse", join(root, "usr/bin/deedhouse"));
  await addConfiguration(root);
  await addUnits(root);
  const manifest = await readJson<Packed>(join(program, "package.json"));
  await addDocuments(root, manifest.version);
  await setModes(root);
  await addControl(root, manifest, architecture);
  const deb = join(folder, `deedhouse_${manifest.version}_${architecture}.deb`);
  await run("dpkg-deb", ["--root-owner-group", "-Zxz", "-z1", "--threads-max=1", "--build", root, deb], {
    env: { ...process.env, SOURCE_DATE_EPOCH: await sourceTime() },
  });
  await rm(root, { recursive: true });
  return deb;
}

/** Node without the symbols that only debuggers read. */
async function addNode(program: string): Promise<void> {
  const packaged = join(repository, `node_modules/node-linux-${process.arch}`);
  const node = join(program, "bin/node");
  await copyFile(join(packaged, "bin/node"), node);
  await copyFile(join(packaged, "LICENSE"), join(program, "bin/node-licence.txt"));
  await run("strip", ["--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", node]).catch(
    (cause) => {
      throw new Error("strip is needed: apt-get install binutils", { cause });
    },
  );
}

const configuration = ["deedhouse.env", "registries.json"];

async function addConfiguration(root: string): Promise<void> {
  const folder = join(root, "etc/deedhouse");
  await mkdir(folder, { recursive: true });
  for (const name of configuration) await copyFile(join(ops, "debian", name), join(folder, name));
}

async function addUnits(root: string): Promise<void> {
  // Below /lib: systemd's own folder on Debian 12, and the same as /usr/lib later.
  const units = join(root, "lib/systemd/system");
  await mkdir(units, { recursive: true });
  for (const name of ["deedhouse-api.service", "deedhouse-worker.service", "deedhouse.target"]) {
    await copyFile(join(ops, "systemd", name), join(units, name));
  }
  const program = { node: "/usr/lib/deedhouse/bin/node", entry: "/usr/lib/deedhouse/bin/deedhouse.js" };
  const agent = renderAgentUnit(nodeSettingsOf(defaultMachineSettings, "localhost"), program);
  // `deedhouse node install` writes its own one, with the node's settings, into /etc, where systemd prefers it.
  await writeFile(join(units, "deedhouse-agent.service"), agent.slice(agent.indexOf("[Unit]")));
  const users = join(root, "usr/lib/sysusers.d");
  await mkdir(users, { recursive: true });
  await copyFile(join(ops, "systemd/sysusers.conf"), join(users, "deedhouse.conf"));
}

async function addDocuments(root: string, version: string): Promise<void> {
  const folder = join(root, "usr/share/doc/deedhouse");
  await mkdir(folder, { recursive: true });
  const date = new Date(Number(await sourceTime()) * 1000).toUTCString().replace("GMT", "+0000");
  const entry = `deedhouse (${version}) stable; urgency=medium\n\n  * /usr/lib/deedhouse/CHANGELOG.md has the changes.\n\n -- ${maintainer}  ${date}\n`;
  await writeFile(join(folder, "changelog.gz"), gzipSync(entry, { level: 9 }));
  const overrides = join(root, "usr/share/lintian/overrides");
  await mkdir(overrides, { recursive: true });
  await copyFile(join(ops, "debian/lintian-overrides"), join(overrides, "deedhouse"));
  await writeFile(join(folder, "copyright"), await copyright(join(root, "usr/lib/deedhouse")));
}

const packageOf = /(^|\/)node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/;

/** Our licence, and where those of all parts are. */
async function copyright(program: string): Promise<string> {
  const licences: string[] = [];
  for (const path of await pathsBelow(program)) {
    if (!packageOf.test(path)) continue;
    const { name, version, license } = await readJson<Record<string, string>>(join(program, path));
    if (version !== undefined) licences.push(`  ${name} ${version}: ${license ?? "see its folder"}`);
  }
  return [
    await readFile(join(program, "LICENSE"), "utf8"),
    "The schemas in /usr/lib/deedhouse/schemas/epp have the licence that the README there names.",
    "Node.js in /usr/lib/deedhouse/bin has the licence in node-licence.txt there.",
    "Debian has the text of the Apache License 2.0 in /usr/share/common-licenses/Apache-2.0.",
    "Packages in /usr/lib/deedhouse/node_modules and /usr/lib/deedhouse/mcp/node_modules, each with its licence in its folder:",
    "",
    ...licences,
    "",
  ].join("\n");
}

const executables = /^usr\/lib\/deedhouse\/bin\/(node|deedhouse)$/;

/** What npm and the repository give may have other modes, also those of this process. */
async function setModes(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const path of await pathsBelow(root)) {
    const file = join(root, path);
    const stats = await lstat(file);
    if (stats.isDirectory()) await chmod(file, 0o755);
    else if (stats.isFile()) await chmod(file, executables.test(path) ? 0o755 : 0o644);
  }
}

async function addControl(root: string, { version, description }: Packed, architecture: string): Promise<void> {
  const sums: string[] = [];
  let bytes = 0;
  for (const path of await pathsBelow(root)) {
    const stats = await lstat(join(root, path));
    bytes += stats.size;
    if (!stats.isFile()) continue;
    sums.push(
      `${createHash("md5")
        .update(await readFile(join(root, path)))
        .digest("hex")}  ${path}`,
    );
  }
  const control = join(root, "DEBIAN");
  await mkdir(control);
  const fields = {
    Package: "deedhouse",
    Version: version,
    Architecture: architecture,
    Maintainer: maintainer,
    "Installed-Size": Math.ceil(bytes / kibibyte),
    Depends: "libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8), systemd | systemd-standalone-sysusers",
    Recommends: "postgresql (>= 15)",
    Section: "net",
    Priority: "optional",
    Description: `reseller gateway for domain names and hosting\n ${description.replace(/^A /, "It is a ").replace(": ", ":\n ")}.\n It brings its own Node.js along.`,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
  await writeFile(join(control, "control"), lines.join(""));
  await writeFile(join(control, "conffiles"), configuration.map((name) => `/etc/deedhouse/${name}\n`).join(""));
  await writeFile(join(control, "md5sums"), `${sums.join("\n")}\n`);
  for (const script of ["postinst", "prerm", "postrm"]) {
    await copyFile(join(ops, "debian", script), join(control, script));
    await chmod(join(control, script), 0o755);
  }
}

if (import.meta.main) process.stdout.write(`${await buildDeb(join(repository, "build"))}\n`);
