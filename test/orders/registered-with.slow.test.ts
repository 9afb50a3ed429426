import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { creates } from "./judge.ts";

// A registration whose worker ends, or whose answers are lost, while it makes hosts.

const name = "new.example";
const host = "ns1.dns-host.net";
const glue = { name: `ns1.${name}`, addresses: ["9.9.9.9"] };
const quick = { transformTimeoutMs: 400, settleMs: 800, takeoverSettleMs: 0, backoffFirstMs: 50 };

for (const execute of [true, false]) {
  for (const [command, of] of [
    ["host:create", host],
    ["domain:create", name],
  ] as const) {
    for (const isKilled of [true, false]) {
      const fate = `${isKilled ? "its worker ends" : "the answer is lost"} during ${command}, which is ${execute ? "" : "not "}executed`;
      test(`a name is registered once with its name servers although ${fate}`, async (t) => {
        const gateway = await startTestGateway(t, { registry: quick });
        const reseller = await gateway.addReseller();
        const { holds, store } = gateway.registry;
        const hold = holds.place({ command, name: of, at: "before-execution", times: 1 });
        const body = { domain_name: name, name_servers: [host, glue] };
        const reply = await gateway.send(reseller, "POST", "/domains/registrations", { body });
        assert.equal(reply.status, 202, reply.text);
        await (isKilled ? hold.reached(1) : hold.abandoned(1));
        if (isKilled) await gateway.stopWorker();
        hold.release({ execute });
        if (isKilled) await gateway.startWorker();
        assert.equal((await gateway.settled(reseller, reply.headers.location ?? "")).status, "Finished");
        const codes = await runSql<{ order_code: string }>(gateway.databaseUrl, "SELECT order_code FROM orders");
        assert.equal(codes.length, 1, "one order adds the host below the name");
        assert.equal((await gateway.settled(reseller, `/orders/${codes[0]!.order_code}`)).status, "Finished");
        const servers = store.domains.find(name)?.delegation?.servers.map((server) => server.name);
        assert.deepEqual(servers?.toSorted(), [glue.name, host].toSorted());
        assert.equal(creates(gateway, name).filter(({ executed }) => executed).length, 1);
        const made = store.journal.entries({ name: host, command: "host:create" });
        assert.equal(made.filter(({ executed }) => executed).length, 1);
      });
    }
  }
}
