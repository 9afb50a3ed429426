/** The programs of docs/clients-python.md, each as it is printed there, with the library as pip installs it. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { clientEnvironment, startTestGateway } from "../harness/gateway.ts";
import { repository } from "../harness/running-system.ts";

const page = readFileSync(join(repository, "docs/clients-python.md"), "utf8");
const programs = Object.fromEntries(
  [...page.matchAll(/```python\n# (\S+)\n(.*?)```/gs)].map(([, file, code]) => [file!, code!]),
);
/** Another Python may come before Debian's on the path. */
const interpreter = ["python3", "/usr/bin/python3"].find(
  (python) => spawnSync(python, ["-c", "import ensurepip, setuptools, wheel"]).status === 0,
);
const skip = interpreter ? false : "python3-wheel is not installed";

const gateway = await startTestGateway({ after }, { node: true });
await gateway.addPack();
const env = clientEnvironment(gateway, await gateway.addReseller());

test("every program of the page runs with the installed library", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-python-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const library = join(folder, "client/python");
  cpSync(join(repository, "client/python"), library, { recursive: true });
  const filesBefore = readdirSync(library, { recursive: true });
  const [install = ""] = /```sh\n(.*?)```/s.exec(page)!.slice(1);
  const [makeVenv = "", pip = ""] = install.trim().split("\n");
  const run = async (command: string) => {
    const [program = "", ...args] = command.split(" ");
    const child = spawn(program, args, { cwd: folder, env });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code, stdout, stderr };
  };
  // The build takes setuptools from this machine, as nothing can be fetched.
  const offline = pip.replace("install", "install --no-index --no-build-isolation");
  const withTools = `${makeVenv.replace("python3", interpreter!)} --system-site-packages`;
  for (const command of [withTools, offline]) {
    const { code, stderr } = await run(command);
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(
    readdirSync(library, { recursive: true }),
    filesBefore,
    "an installation leaves nothing in the clone",
  );
  for (const [file, code] of Object.entries(programs)) writeFileSync(join(folder, file), code);
  const shows = async (words: string, pattern: RegExp) => {
    // With -W error, a socket that nobody has closed is reported.
    const { code, stdout, stderr } = await run(`.venv/bin/python -X dev -W error ${words}`);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, pattern);
  };
  await shows("packs.py", /\nrequest \S+: \d+ left\n$/);
  await shows("order.py hello.example", /^REG-.*Finished.*hello\.example \d{4}-/s);
  await shows("host.py hello.example correct-horse-battery", /^Ready hello\.example http:/);
  await shows("suspend.py hello.example unpaid", /^Suspended unpaid\nReady\n$/);
  await shows("lists.py", /^hello\.example .*\n\d of \d\n$/);
  await shows("events.py", /domain\.registered.*continue after evt_/s);
  await shows(
    "errors.py bad_name.example taken-1.example race-1.example pending-never-1.example",
    /domain_name: .*\ntaken-1\.example is taken\n.*Errors.*\npending-never-1\.example is \w+: nothing is lost/s,
  );
  await shows("retries.py", /availability/);
  await shows("export.py", /^$/);
  assert.match(readFileSync(join(folder, "domains.csv"), "utf8"), /^domain_name,.*\r\nhello\.example,/);
});
