import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { generate } from "selfsigned";
import { readNodePlaces } from "#hosting/nodes/nodes.ts";
import { changedSettings, type SettingsOptions } from "#operator/nodes/settings.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import { startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after }, { node: false });
const { gateway } = stage;
const { ftpPort, webPort } = stage.node.ports;
const folder = await mkdtemp(join(tmpdir(), "deedhouse-settings-"));
after(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

const room = ["--capacity-gb", "1", "--ftp", `127.0.0.1:${ftpPort}`, "--web", `127.0.0.1:${webPort}`];
const settingsOf = async (id: string) => (await readNodePlaces(gateway.context, id))[0]?.settings;

test("only the given settings of a panel change", async () => {
  const { cert } = await generate([{ name: "commonName", value: "panels.test" }], { keyType: "ec", curve: "P-256" });
  const first = [
    "--panel-url",
    "https://panel.example:2087",
    "--panel-user",
    "first",
    "--panel-mail-domain",
    "ops.example",
  ];
  const tokens = [await file("first.token", "TOKEN1\n"), await file("second.token", "TOKEN2\n")];
  const kind = ["--kind", "cpanel", "--panel-installation", "a1b2", "--panel-token-file", tokens[0] ?? ""];
  await operated(gateway, "node", "add", "panel", ...room, ...kind, ...first);
  const kept = { mailDomain: "ops.example", installation: "a1b2" };
  const before = { url: "https://panel.example:2087", user: "first", token: "TOKEN1", ...kept };
  assert.deepEqual(await settingsOf("panel"), before);

  const set = (...args: string[]) => operated(gateway, "node", "set", "panel", ...args);
  await set("--panel-token-file", tokens[1] ?? "");
  assert.deepEqual(await settingsOf("panel"), { ...before, token: "TOKEN2" });
  const trust = ["--panel-package", "small", "--panel-ca-file", await file("ca.pem", cert)];
  const shown = await set("--panel-url", "https://other.example:2087", "--panel-user", "second", ...trust);
  const changed = { ...before, url: "https://other.example:2087", user: "second", token: "TOKEN2" };
  assert.deepEqual(await settingsOf("panel"), { ...changed, plan: "small", ca: cert });
  assert.deepEqual(
    [shown.panel_url, shown.panel_user, shown.panel_package, shown.panel_ca, shown.panel_mail_domain],
    ["https://other.example:2087", "second", "small", "CN=panels.test", "ops.example"],
  );
  assert.ok(!JSON.stringify(shown).includes("TOKEN2"));
  await set("--no-panel-package", "--no-panel-ca-file", "--capacity-gb", "2");
  assert.deepEqual(await settingsOf("panel"), changed);
  const wrong = ["node", "set", "panel", "--panel-package", "large", "--panel-token-file", "-"];
  await assertRefused(gateway, wrong, 2, /standard input does not contain an API token of WHM/);
  assert.deepEqual(await settingsOf("panel"), changed, "what is refused changes nothing");
});

test("an option that is useless, or not for this kind of node, is refused with an explanation", async () => {
  const wrong: [options: SettingsOptions, sentence: RegExp][] = [
    [{ panelUrl: "http://panel.example" }, /^http:\/\/panel\.example is not a URL such as https:/],
    [{ panelTokenFile: join(folder, "none") }, /cannot read .*none: ENOENT/],
    [{ panelCaFile: await file("no.pem", "no certificate") }, /no\.pem contains no certificate in PEM/],
  ];
  for (const [options, message] of wrong) {
    assert.throws(() => changedSettings("cpanel", options), { name: "CommandFailure", message });
  }
  const message = /^--panel-url is for nodes of the kind cpanel, and this one is embedded$/;
  assert.throws(() => changedSettings("embedded", { panelUrl: "https://panel.example" }), { message });
});
