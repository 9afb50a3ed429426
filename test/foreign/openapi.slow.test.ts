/** Foreign programs judge openapi.json: a linter, and two generators whose clients are compiled and used. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { startTestGateway } from "../harness/gateway.ts";

const root = join(import.meta.dirname, "../..");
const tools = join(root, "tools/openapi");
const binaries = join(tools, "node_modules/.bin");
/** They come with npm ci --prefix tools/openapi, so that npm ci stays light. */
const skip = !existsSync(binaries) && "tools/openapi is not installed";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-openapi-"));
after(() => rm(folder, { recursive: true, force: true }));

const environment = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };

/** Runs a program of Node in the folder. @throws with its output */
async function run(program: string, ...args: string[]): Promise<string> {
  const options = { cwd: folder, env: { ...environment, PATH: join(root, "node_modules/.bin"), HOME: folder } };
  try {
    return (await promisify(execFile)(process.execPath, [program, ...args], options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} failed:\n${stdout}${stderr}`);
  }
}
const tool = (name: string, ...args: string[]) => run(join(binaries, name), ...args);

/** Compiles a client against what a generator has made. */
async function compile(client: string, generated: string): Promise<void> {
  for (const file of [client, "sign.ts"]) await cp(join(tools, file), join(folder, file));
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    strict: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    outDir: "out",
  };
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: [client], include: [generated] }),
  );
  await tool("tsc", "--project", "tsconfig.json");
}

async function startService() {
  const gateway = await startTestGateway({ after });
  const reseller = await gateway.addReseller();
  return { url: gateway.url, key: reseller.key.id, secret: reseller.key.secret.reveal() };
}

const results = {
  ordered: 202,
  status: "Finished",
  name: "hello.example",
  hosts: [],
  registrant: "Brussels",
  listed: ["hello.example"],
  code: "domain_not_found",
};

test("openapi.json passes every rule of a linter, and clients of two generators compile and work", {
  skip,
}, async (t) => {
  await symlink(join(tools, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  const { url } = await startService();
  await writeFile(join(folder, "openapi.json"), await (await fetch(`${url}/openapi.json`)).text());

  await t.test("it passes the strict rules of Redocly", async () => {
    await tool("redocly", "lint", "openapi.json", "--config", join(tools, "redocly.yaml"));
  });

  await t.test("a mistake in it does not pass", async () => {
    const wrong = (await readFile(join(folder, "openapi.json"), "utf8")).replace(
      '"operationId":"readDomain"',
      '"operationId":"listDomains"',
    );
    await writeFile(join(folder, "wrong.json"), wrong);
    await assert.rejects(
      tool("redocly", "lint", "wrong.json", "--config", join(tools, "redocly.yaml")),
      /operation-operationId-unique/,
    );
  });

  await t.test("a client of openapi-typescript and openapi-fetch works", async () => {
    const { url, key, secret } = await startService();
    await tool("openapi-typescript", "openapi.json", "--output", "api.d.ts");
    await compile("client-of-types.ts", "api.d.ts");
    assert.deepEqual(JSON.parse(await run("out/client-of-types.js", url, key, secret)), { ...results, mistake: "1" });
  });

  await t.test("a client of openapi-ts works", async () => {
    const { url, key, secret } = await startService();
    const plugins = ["@hey-api/client-fetch", "@hey-api/sdk", "@hey-api/typescript"];
    await tool(
      "openapi-ts",
      "--input",
      "openapi.json",
      "--output",
      "sdk",
      "--silent",
      "--no-log-file",
      "--plugins",
      ...plugins,
    );
    await compile("client-of-sdk.ts", "sdk");
    assert.deepEqual(JSON.parse(await run("out/client-of-sdk.js", url, key, secret)), {
      ...results,
      mistake: ["path"],
    });
  });
});
