/** The receivers of docs/webhooks.md, each as it is printed there. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePorts } from "../harness/free-ports.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { repository } from "../harness/running-system.ts";
import { deliveriesOf, postWebhook, tell, until } from "./stage.ts";

const page = readFileSync(join(repository, "docs/webhooks.md"), "utf8");
const programs = [...page.matchAll(/```\w+ \[(\w+)\]\n(.*?)```/gs)].map(([, name, code]) => ({
  name: name!,
  code: code!,
}));
const folder = mkdtempSync(join(tmpdir(), "deedhouse-receivers-"));
after(() => rmSync(folder, { recursive: true }));
const gateway = await startTestGateway({ after });

const runs: Record<string, { file: string; command: (port: number, file: string) => string[]; needs: string }> = {
  Node: { file: "receive.mjs", command: (_, file) => [process.execPath, file], needs: "node" },
  PHP: { file: "receive.php", command: (port, file) => ["php", "-S", `127.0.0.1:${port}`, file], needs: "php-cli" },
  Python: { file: "receive.py", command: (_, file) => ["python3", file], needs: "python3" },
};
const isMissing = (program: string) => spawnSync(program, ["--version"]).status !== 0;

test("the page has a receiver for each language", () => {
  assert.deepEqual(
    programs.map(({ name }) => name),
    Object.keys(runs),
  );
});

for (const { name, code } of programs) {
  const { file, command, needs } = runs[name]!;
  const skip = isMissing(command(0, file)[0]!) && `${needs} is not installed`;
  test(`the receiver in ${name} takes genuine deliveries, and refuses others`, { skip }, async (t) => {
    const path = join(folder, file);
    writeFileSync(path, code);
    const [port] = await freePorts(1);
    const reseller = await gateway.addReseller();
    const webhook = await postWebhook(gateway, reseller, `http://127.0.0.1:${port}/`);
    const [program = "", ...args] = command(port!, path);
    const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: webhook.secret };
    const child = spawn(program, args, { env });
    t.after(() => child.kill());
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (printed += text));
    const answers = () => fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" }).catch(() => undefined);
    await until("it listens", async () => (await answers()) !== undefined);
    assert.equal((await answers())?.status, 401);
    assert.equal((await gateway.send(reseller, "POST", `${webhook.path}/test`)).status, 202);
    await until("it takes the test", () => printed.includes("webhook.test"));
    await tell(gateway, reseller, "genuine");
    await until("it arrives", () => printed.includes("domain.notice"));
    await until("it is noted", async () => (await deliveriesOf(gateway, reseller, webhook))[0]?.status === "Delivered");
  });
}
