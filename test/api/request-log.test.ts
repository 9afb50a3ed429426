import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createLog } from "#lib/log.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { systemFolder } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";

interface Line {
  msg: string;
  requestId?: string;
}

test("each log line of a request has its id, once, wherever it is written", async (t) => {
  const path = join(await systemFolder(t), "api.log");
  const fd = openSync(path, "a");
  t.after(() => closeSync(fd));
  const log = createLog("api", "info", fd);
  const gateway = await startTestGateway(t, { context: { log, checkBudgetMs: 50 } });
  const reseller = await gateway.addReseller();
  const linesOf = (id: string | undefined) => {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((line) => line.includes(String(id))).map((line) => [line, JSON.parse(line) as Line] as const);
  };

  await gateway.stopWorker();
  // In the use case.
  const body = { domain_name: "nobody-answers.example" };
  const unanswered = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  // At the edge.
  await runSql(gateway.databaseUrl, "ALTER TABLE webhooks RENAME TO webhooks_hidden");
  const failed = await gateway.send(reseller, "GET", "/webhooks");
  assert.equal(failed.status, 500);
  for (const [reply, msg] of [
    [unanswered, "the registry did not answer in time whether a name is free"],
    [failed, "a request failed unexpectedly"],
  ] as const) {
    const id = reply.headers["x-request-id"];
    const lines = linesOf(id);
    assert.deepEqual(
      lines.map(([, line]) => [line.msg, line.requestId]),
      [[msg, id]],
    );
    assert.equal(lines[0]![0].split("requestId").length, 2);
  }
});
