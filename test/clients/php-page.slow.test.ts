/** The programs of docs/clients-php.md, each as it is printed there. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { clientEnvironment, startTestGateway } from "../harness/gateway.ts";
import { repository } from "../harness/running-system.ts";
import { php } from "./foreign-client.ts";

const page = readFileSync(join(repository, "docs/clients-php.md"), "utf8");
const programs = Object.fromEntries(
  [...page.matchAll(/```php\n(<\?php \/\/ (\S+)\n.*?)```/gs)].map(([, code, file]) => [file!, code!]),
);
const skip = php.skip;

const gateway = await startTestGateway({ after }, { node: true });
await gateway.addPack();
const env = clientEnvironment(gateway, await gateway.addReseller());

test("every file of the library is valid PHP", { skip }, () => {
  const folder = join(repository, "client/php/src");
  for (const file of readdirSync(folder)) {
    const { status, stdout } = spawnSync("php", ["-l", join(folder, file)], { encoding: "utf8" });
    assert.equal(status, 0, stdout);
  }
});

test("composer installs the library as the page says", { skip: skip || whyNoComposer() }, (t) => {
  const folder = workFolder(t);
  const [commands = ""] = /```sh\n(.*?)```/s.exec(page)!.slice(1);
  for (const command of commands.trim().split("\n")) {
    const [program = "", ...args] = command.replace("../deedhouse", repository).split(" ");
    const offline = { ...env, HOME: folder, COMPOSER_DISABLE_NETWORK: "1", COMPOSER_ALLOW_SUPERUSER: "1" };
    const { status, stderr } = spawnSync(program, args, { cwd: folder, env: offline, encoding: "utf8" });
    assert.equal(status, 0, stderr);
  }
  const shown = spawnSync("php", ["-r", "require 'vendor/autoload.php'; echo Deedhouse\\Client::VERSION;"], {
    cwd: folder,
  });
  assert.equal(shown.stdout.toString(), "0.1.0");
});

test("every program of the page runs", { skip }, async (t) => {
  const folder = workFolder(t);
  mkdirSync(join(folder, "vendor"));
  symlinkSync(join(repository, "client/php/autoload.php"), join(folder, "vendor/autoload.php"));
  for (const [file, code] of Object.entries(programs)) writeFileSync(join(folder, file), code);
  const shows = async (words: string, pattern: RegExp) => {
    const child = spawn("php", words.split(" "), { cwd: folder, env });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, pattern);
    assert.equal(stderr, "");
  };
  await shows("packs.php", /\nrequest \S+: \d+ left\n$/);
  await shows("order.php hello.example", /^REG-.*Finished.*hello\.example \d{4}-/s);
  await shows("host.php hello.example correct-horse-battery", /^Ready hello\.example http:/);
  await shows("suspend.php hello.example unpaid", /^Suspended unpaid\nReady\n$/);
  await shows("lists.php", /^hello\.example .*\n\d of \d\n$/);
  await shows("events.php", /domain\.registered.*continue after evt_/s);
  await shows(
    "errors.php bad_name.example taken-1.example race-1.example pending-never-1.example",
    /domain_name: .*\ntaken-1\.example is taken\n.*Errors.*\npending-never-1\.example is \w+: nothing is lost/s,
  );
  await shows("retries.php", /availability/);
  await shows("export.php", /^$/);
  assert.match(readFileSync(join(folder, "domains.csv"), "utf8"), /^domain_name,.*\r\nhello\.example,/);
});

function workFolder(t: { after(hook: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-php-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function whyNoComposer(): string | false {
  return spawnSync("composer", ["--version"], { env: { ...process.env, COMPOSER_ALLOW_SUPERUSER: "1" } }).status === 0
    ? false
    : "composer is not installed";
}
