/** What api processes load of OpenTelemetry. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startApiProcess } from "../harness/api-process.ts";
import { startCollector } from "../harness/collector.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { systemFolder } from "../harness/running-system.ts";

/** Notes the package of each module that the process loads, in a file. */
const hook = (file: string) => `import { registerHooks } from "node:module";
  import { appendFileSync } from "node:fs";
  registerHooks({ load(url, context, next) {
    const [, name] = /node_modules[/](@opentelemetry[/][^/]+)/.exec(url) ?? [];
    if (name) appendFileSync(${JSON.stringify(file)}, name + "\\n");
    return next(url, context);
  } });`;

test("without a collector an api loads nothing of the SDK, and with one it does", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const folder = await systemFolder(t);
  const { environment } = await startCollector(t);
  const loadedWith = async (name: string, settings: Record<string, string>) => {
    const file = join(folder, name);
    const options = `--import=data:text/javascript,${encodeURIComponent(hook(file))}`;
    const api = await startApiProcess(t, gateway, gateway.databaseUrl, { NODE_OPTIONS: options, ...settings });
    assert.equal(await api.stop(), 0);
    return new Set((await readFile(file, "utf8")).trim().split("\n"));
  };
  assert.deepEqual(await loadedWith("without", {}), new Set(["@opentelemetry/api"]));
  assert.ok((await loadedWith("with", environment)).has("@opentelemetry/sdk-node"));
});
