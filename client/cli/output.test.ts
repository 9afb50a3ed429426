// What others have written reaches the terminal without controls, by each way on which the tool prints.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runCli } from "../testing/run-cli.ts";
import { apiKey, apiSecret, type Canned, startStandInService } from "../testing/stand-in-service.ts";
import { safeJson, safeLine, safeText } from "./output.ts";

/** A title for the window, a bell, a colour by a C1 control, a line that goes back, DEL, and text that runs the other way. */
const hostile = "a\u001b]0;owned\u0007\u009b31mb\rc\u007fd\u202ee\u2066f\u061cg\u2028h";
const unsafe = /[^\n\t\P{C}]|[\u2028\u2029]/u;

const words = [
  ...["id", "domain_name", "identifier", "order_code", "event_id", "kind", "type", "status", "url", "description"],
  ...["name", "note", "text", "created_at", "expiration_date", "error_text", "error_code", "reason", "secret"],
  ...["gaining_registrar", "auth_code", "host_name", "at"],
];
const record = {
  ...Object.fromEntries([...words, hostile].map((name) => [name, hostile])),
  name_servers: [{ host: hostile }],
  data: { domain_name: hostile, order_code: hostile },
  ftp: { host: hostile },
  history: [{ at: hostile, text: hostile, count: 1 }],
  contacts: { admin: { name: hostile } },
  registrant: { name: hostile },
};
const one: Canned = { status: 200, body: record, headers: { "check-after": "1" } };
const list: Canned = { status: 200, body: [record], headers: { link: '</v1/events?after=evt_1_1_1>; rel="next"' } };
const refusal: Canned = {
  status: 400,
  body: {
    error_code: hostile,
    error_text: hostile,
    validation_errors: [{ field: hostile, error_code: hostile, error_text: `other\n${hostile}` }],
  },
};

const lists = [
  ...[
    ["domains", "list"],
    ["domains", "departures"],
    ["orders", "list"],
    ["domains", "renewals"],
    ["packs", "list"],
  ],
  ...[
    ["hosting", "list"],
    ["hosting", "host-names", "a.example"],
    ["events", "list"],
    ["webhooks", "list"],
  ],
  ["webhooks", "deliveries", "wh_1"],
  ["domains", "history", "a.example"],
];
const records = [
  ...[
    ["domains", "get", "a.example"],
    ["domains", "contacts", "a.example"],
  ],
  ...[
    ["orders", "get", "REG-1"],
    ["hosting", "get", "a.example"],
    ["hosting", "history", "a.example"],
  ],
  ...[
    ["webhooks", "show", "wh_1"],
    ["webhooks", "create", "https://a.example/"],
    ["webhooks", "rotate-secret", "wh_1"],
  ],
  ["webhooks", "update", "wh_1", "--enable"],
];

type Case = [string[], Canned];
const cases: Case[] = [
  ...lists.map((args): Case => [args, list]),
  ...records.map((args): Case => [args, one]),
  [["domains", "list", "--json"], list],
  [["domains", "list"], refusal],
  [["domains", "list"], { ...refusal, status: 503 }],
];

for (const [args, answer] of cases) {
  test(`${args.join(" ")} prints ${answer.status} without controls`, async () => {
    await using service = await startStandInService();
    service.faults.push(...Array.from({ length: 12 }, () => answer));
    const { stdout, stderr } = await runCli(service.url, args);
    assert.match(stdout + stderr, /owned/);
    assert.doesNotMatch(stdout + stderr, unsafe);
    assert.doesNotMatch(stderr, /\nother/, "no text begins a line");
  });
}

test("progress, and events as they happen, are printed without controls", async () => {
  await using service = await startStandInService();
  for (const args of [
    ["domains", "register", "a.example", "--wait", "--timeout", "2s"],
    ["events", "follow"],
    ["events", "follow", "--json"],
  ]) {
    const answer =
      args[0] === "events" ? list : { ...one, status: 202, headers: { ...one.headers, location: "/v1/x" } };
    service.faults.splice(0, service.faults.length, answer, answer, answer, refusal);
    const { stdout, stderr } = await runCli(service.url, args);
    assert.match(stdout + stderr, /owned/, args.join(" "));
    assert.doesNotMatch(stdout + stderr, unsafe, args.join(" "));
  }
});

test("JSON means what the service sent", () => {
  const shown = safeJson(record, 2);
  assert.doesNotMatch(shown, unsafe);
  assert.deepEqual(JSON.parse(shown), record);
});

test("text in other scripts stays as it is", () => {
  for (const text of ["Ünïcødé", "日本語", "שלום", "می‌خواهم", "👩‍💻", "two\nlines\tand a tab\r\n"])
    assert.equal(safeText(text), text);
  assert.equal(safeLine("two\nlines\tand a tab"), "two�lines�and a tab");
});

const csv: Canned = { status: 200, body: hostile, headers: { "content-type": "text/csv" } };

test("CSV reaches a file or a program as it is, and a terminal without controls", async (t) => {
  await using service = await startStandInService();
  service.faults.push(csv, csv);
  const { stdout } = await runCli(service.url, ["domains", "list", "--csv"]);
  assert.match(stdout, unsafe);
  if (spawnSync("script", ["--version"]).status !== 0) return t.skip("script of util-linux is not installed");
  const entry = fileURLToPath(new URL("../testing/cli-entry.ts", import.meta.url));
  const env = {
    ...process.env,
    DEEDHOUSE_URL: service.url,
    DEEDHOUSE_API_KEY: apiKey,
    DEEDHOUSE_API_SECRET: apiSecret,
  };
  const command = `${process.execPath} ${entry} domains list --csv`;
  const shown = await promisify(execFile)("script", ["-qec", command, "/dev/null"], { env });
  assert.match(shown.stdout, /owned/);
  assert.doesNotMatch(shown.stdout.replaceAll("\r\n", "\n"), unsafe);
});
