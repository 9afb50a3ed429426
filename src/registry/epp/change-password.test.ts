import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { describe, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { changePassword } from "#registry/epp/change-password.ts";
import { count } from "#registry/epp/pool/test-pool.ts";
import { startPasswordServer } from "#registry/epp/test-password-server.ts";

const oldPassword = "old-PW-1";
const newPassword = "new-PW-2";

async function start(context: TestContext) {
  const server = await startPasswordServer(context, oldPassword);
  const change = () =>
    changePassword(
      {
        host: "127.0.0.1",
        port: server.standIn.port,
        tls: { ca: server.certificate.cert, servername: "localhost" },
        registrarId: "ClientX",
        password: new Secret(oldPassword),
        services: {
          requiredObjectURIs: ["urn:ietf:params:xml:ns:domain-1.0"],
          optionalObjectURIs: [],
          extensionURIs: [],
        },
        settleMs: 0,
        clock: systemClock,
        random: systemRandom,
      },
      new Secret(newPassword),
    );
  return { server, change };
}

describe("a password change", () => {
  test("is one login with the new password and a logout", async (context) => {
    const { server, change } = await start(context);
    assert.deepEqual(await change(), { result: "changed", reason: undefined });
    assert.equal(server.password, newPassword);
    assert.deepEqual(server.tried, [oldPassword]);
    assert.equal(count(server.standIn, "logout"), 1);
  });

  for (const code of [2200, 2306, 2501, 2502]) {
    test(`that is answered with ${code} failed, and is not retried`, async (context) => {
      const { server, change } = await start(context);
      server.refusal = code;
      const { result, reason } = await change();
      assert.equal(result, "unchanged");
      assert.match(reason ?? "", new RegExp(`${code}`));
      assert.equal(server.tried.length, 1);
    });
  }

  test("that was executed but whose answer is lost needs one more login to find out", async (context) => {
    const { server, change } = await start(context);
    server.loss = "after";
    assert.equal((await change()).result, "changed");
    assert.deepEqual(server.tried, [oldPassword, newPassword]);
  });

  test("that was not executed and whose answer is lost needs two more logins to find out", async (context) => {
    const { server, change } = await start(context);
    server.loss = "before";
    assert.equal((await change()).result, "unchanged");
    assert.deepEqual(server.tried, [oldPassword, newPassword, oldPassword]);
    assert.equal(server.password, oldPassword);
  });

  for (const code of [2400, 2500]) {
    test(`that was executed although it is answered with ${code} needs one more login to find out`, async (context) => {
      const { server, change } = await start(context);
      server.loss = "failure";
      server.failureCode = code;
      assert.equal((await change()).result, "changed");
      assert.deepEqual(server.tried, [oldPassword, newPassword]);
    });
  }

  test("has an unknown outcome when neither login is answered, and a third is not tried", async (context) => {
    const { server, change } = await start(context);
    server.loss = "after";
    server.plainAnswer = "close";
    const { result, reason } = await change();
    assert.equal(result, "unknown");
    assert.doesNotMatch(reason ?? "", /PW-/);
    assert.deepEqual(server.tried, [oldPassword, newPassword, oldPassword]);
  });

  test("fails at a registry that is down", async (context) => {
    const { server, change } = await start(context);
    const { script } = server.standIn;
    server.standIn.script = (request) => (request.name === "connect" ? "close" : script(request));
    assert.equal((await change()).result, "unchanged");
    assert.deepEqual(server.tried, []);
  });
});
