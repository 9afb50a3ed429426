/** Runs the commands of README.md and of the pages in docs/, as they stand there, in a running system. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { generate } from "selfsigned";
import { type RunningSystem, repository, startSystem, systemFolder } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { startOwnServer } from "../harness/standby.ts";
import { confirmed, elsewhere, input, ownTests, refused, untilStopped } from "./command-table.ts";
import { type ShellBlock, shellBlocks } from "./shell-blocks.ts";

const folder = await systemFolder({ after });
// Production refuses a server that may lose what it has acknowledged.
const { url: otherDatabase } = await startOwnServer({ after }, { fsync: "on" });
let system: RunningSystem;
/** What a reader replaces, and by what. */
let placeholders: [text: string, real: string][];

before(async () => {
  system = await startSystem(folder);
  await makeTools();
  await makeFiles();
  const { url, api_key: key, api_secret: secret, ftp, web, registry, database_url: database } = system.ready();
  await operated("account", "create", "acme");
  const acme = await operated("key", "create", "--account", "acme");
  const receiver = await startReceiver();
  const webhook = await system.client.webhooks.create(receiver);
  await runSql(
    database,
    `INSERT INTO poll_messages (registry_id, message_id, received_at, kind, needs_operator, payload)
     VALUES ('sandbox', '4711', now(), 'transfer', true, '<epp/>'), ('sandbox', '4712', now(), 'notice', true, '<epp/>')`,
  );
  placeholders = [
    ["https://api.example/v1", `${url}/v1`],
    ["http://127.0.0.1:7400", url],
    ["DEEDHOUSE_API_KEY=…", `DEEDHOUSE_API_KEY=${key}`],
    ["DEEDHOUSE_API_SECRET=…", `DEEDHOUSE_API_SECRET=${secret}`],
    ["<key>", key],
    ["<secret>", secret],
    ["127.0.0.1:7471", `127.0.0.1:${registry.control_port}`],
    ["127.0.0.1:7421", `${ftp.host}:${ftp.port}`],
    ["localhost:7480", `localhost:${web.port}`],
    ["xkn3qjfYGmrM6jqfwuA4sQY4", `'"$(sed -n 's/.*shown only once: //p' "$HERE"/*.stderr)"'`],
    ["/srv/deedhouse", join(folder, "srv")],
    ["/etc/deedhouse", join(folder, "etc")],
    ["/srv/small", join(folder, "small")],
    ["192.0.2.7", "127.0.0.1"],
    ["postgres://deedhouse:password@db.example/deedhouse", otherDatabase],
    ["0a1b2c3d4e5f60718293a4b5c6d7e8f9", acme.api_key!],
    ["<id>", "sandbox"],
    ["https://shop.example.com/", receiver],
    ["http://127.0.0.1:8080/", receiver],
    ["wh_5c1f0a9be2d34b7e8a61", webhook.data.id],
  ];
});

/** @returns the URL of a receiver of webhooks */
async function startReceiver(): Promise<string> {
  const server = createServer((request, response) => void request.resume().once("end", () => response.end()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The tool as an installation has it; npx finds it in its own repository. */
async function makeTools(): Promise<void> {
  const tool = `exec '${process.execPath}' '${join(repository, "bin/deedhouse.ts")}' "$@"`;
  await mkdir(join(folder, "bin"));
  for (const [name, body] of [
    ["deedhouse", tool],
    ["npx", `[ "$1" = deedhouse ] && shift && ${tool}`],
  ]) {
    await writeFile(join(folder, "bin", name!), `#!/bin/sh\n${body}\n`);
    await chmod(join(folder, "bin", name!), 0o755);
  }
}

/** The files that the pages expect. */
async function makeFiles(): Promise<void> {
  await mkdir(join(folder, "etc/certificates"), { recursive: true });
  await mkdir(join(folder, "srv/replay"), { recursive: true });
  const registries = join(folder, "data/keys/registries.json");
  const profiles = JSON.parse(await readFile(registries, "utf8")) as { id: string }[];
  const { cert } = await generate([{ name: "commonName", value: "A registry's CA" }]);
  await writeFile(join(folder, "srv/ca.pem"), cert);
  // Production takes no registry of a sandbox.
  const real = { ...profiles[0], host: "epp.nic.example", servername: "epp.nic.example", caFile: "ca.pem" };
  await writeFile(join(folder, "srv/registries.json"), JSON.stringify([real]), { mode: 0o600 });
  const nic = profiles.filter(({ id }) => id === "sandbox").map((profile) => ({ ...profile, id: "nic" }));
  await writeFile(join(folder, "ote.json"), JSON.stringify(nic), { mode: 0o600 });
  const files = { "privkey.pem": "key\n", "fullchain.pem": "certificate\n", "new-password.txt": "New-password-77\n" };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await writeFile(join(folder, "etc/panel-1.token"), "TOKEN7QK2M9X4RHD8\n", { mode: 0o600 });
}

async function operated(...args: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await system.tool([...args, "--data", join(folder, "data"), "--json"]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const blocks = shellBlocks().filter(({ page }) => !(page in ownTests));
/** What adds something comes before what uses it, and the README is a story of its own. */
const adds = ({ page, commands }: ShellBlock) =>
  page === "README.md" || commands.some((command) => / (add|register) /.test(command));

/** Until its restart, the worker logs in with the old password, so afterwards the registry is away. */
const changesPassword = ({ commands }: ShellBlock) => commands.some((command) => command.includes("registry password"));
const turnOf = (block: ShellBlock) => (adds(block) ? 0 : changesPassword(block) ? 2 : 1);

for (const block of blocks.toSorted((a, b) => turnOf(a) - turnOf(b))) {
  const commands = block.commands.filter((command) => !(command in elsewhere));
  if (commands.length === 0) continue;
  const needed = ["curl", "openssl"].find(
    (tool) => isMissing(tool) && commands.some((command) => command.includes(tool)),
  );
  const skip = needed ? `${needed} is not installed` : false;
  test(`the commands of ${block.page}, line ${block.line}`, { skip }, async () => {
    const script = commands.map(scriptOf).join("\n");
    const real = placeholders.reduce((text, [name, value]) => text.replaceAll(name, value), script);
    const here = join(folder, `${block.page.replace(/\W/g, "-")}-${block.line}`);
    await mkdir(here);
    const ended = await runScript(real.replaceAll("$HERE", here));
    for (const [index, command] of commands.entries()) {
      const read = (what: string) =>
        readFile(join(here, `${index}.${what}`), "utf8").catch(() => `no ${what}: ${ended}`);
      const [code, stdout, stderr] = await Promise.all(["code", "stdout", "stderr"].map(read));
      const { exits, says } = refused[command] ?? { exits: untilStopped[command]?.exits ?? 0, says: /^/ };
      assert.equal(Number(code), exits, `${command}\n${stdout}${stderr}`);
      assert.match(stderr!, says, command);
    }
  });
}

function isMissing(tool: string): boolean {
  return spawnSync(tool, ["version"]).error !== undefined;
}

/** Each runs in the shell of its block, so that variables stay, and leaves its exit code in a file. */
function scriptOf(command: string, index: number): string {
  const out = `> "$HERE/${index}.stdout" 2> "$HERE/${index}.stderr"`;
  const given = input[command] === undefined ? "< /dev/null" : `<<< '${input[command]}'`;
  const lasting = untilStopped[command];
  if (lasting) {
    const files = `OUT="$HERE/${index}.stdout" LOG="$HERE/${index}.stderr"`;
    const wait = `${files}; while kill -0 $! && ! ${lasting.works}; do sleep 0.05; done 2> /dev/null`;
    return `${command} ${out} < /dev/null &\n${wait}\nkill -TERM $!; wait $!; echo $? > "$HERE/${index}.code"`;
  }
  const asked = confirmed.includes(command) ? `${command} --yes` : command;
  return `{ ${asked}\n} ${out} ${given}; echo $? > "$HERE/${index}.code"`;
}

/** In the folder of the system, so that its data folder is the tool's own. */
async function runScript(script: string): Promise<string> {
  const { url, api_key: key, api_secret: secret } = system.ready();
  const child = spawn("bash", ["-c", script], {
    cwd: folder,
    env: {
      PATH: `${join(folder, "bin")}:${process.env.PATH}`,
      HOME: folder,
      DEEDHOUSE_URL: url,
      DEEDHOUSE_API_KEY: key,
      DEEDHOUSE_API_SECRET: secret,
      // Free ports for the roles that a page starts.
      DEEDHOUSE_API_PORT: "0",
      DEEDHOUSE_NODE_FTP_PORT: "0",
      DEEDHOUSE_NODE_WEB_PORT: "0",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await once(child, "close");
  return stderr;
}
