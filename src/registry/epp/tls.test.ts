import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { before, describe, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import { encodeFrame } from "#registry/epp/frame.ts";
import type { EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import type { StandInCertificate, StandInOptions } from "#registry/epp/test-stand-in-server.ts";
import { createCertificate, greetingXml } from "#registry/epp/test-stand-in-server.ts";
import { completeProfile, loadRegistries } from "#registry/registries.ts";

const waitMs = 5_000;
let registry: StandInCertificate;
let client: StandInCertificate;
let other: StandInCertificate;

before(async () => {
  [registry, client, other] = await Promise.all([
    createCertificate(),
    createCertificate("ours"),
    createCertificate("other"),
  ]);
});

/** Tries to log in, and returns the outcome. */
async function logIn(
  context: TestContext,
  tls: Partial<EppPoolOptions["tls"]> = {},
  server: Partial<StandInOptions> = {},
): Promise<{ logins: number; failure: EppUnavailable | undefined }> {
  const { standIn, pool } = await startFixture(
    context,
    { tls: { ca: registry.cert, servername: "localhost", ...tls } },
    { certificate: registry, ...server },
  );
  try {
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(domainCheck("example.com"), { clTRID: "check-1" })).code, 1000);
    return { logins: count(standIn, "login"), failure: undefined };
  } catch (failure) {
    assert.ok(failure instanceof EppUnavailable, `${failure}`);
    assert.equal(failure.reason, "connect");
    return { logins: count(standIn, "login"), failure };
  }
}

/** Asserts that it fails for the reason in the sentence, before a login is sent. */
async function assertRefused(attempt: ReturnType<typeof logIn>, sentence: RegExp): Promise<void> {
  const { logins, failure } = await attempt;
  assert.match(failure?.message ?? "it worked", sentence);
  assert.equal(logins, 0);
}

const key = ({ key: pem }: StandInCertificate) => new Secret(pem);

describe("a registry that requires a client certificate", () => {
  test("accepts ours", async (context) => {
    const { failure, logins } = await logIn(
      context,
      { cert: client.cert, key: key(client) },
      { clientCa: client.cert },
    );
    assert.deepEqual([failure, logins], [undefined, 1]);
  });

  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    test(`refuses us without one, and the error says so (${maxVersion})`, async (context) => {
      await assertRefused(
        logIn(context, {}, { clientCa: client.cert, maxVersion }),
        /refuses? our .*client certificate/,
      );
    });

    test(`refuses one of another authority, and the error says so (${maxVersion})`, async (context) => {
      const tls = { cert: other.cert, key: key(other) };
      await assertRefused(
        logIn(context, tls, { clientCa: client.cert, maxVersion }),
        /refuses? our .*client certificate/,
      );
    });
  }
});

describe("a client certificate outside its validity", () => {
  const dayMs = 86_400_000;
  const now = systemClock.now().getTime();
  for (const [what, from, until] of [
    ["expired on", now - 2 * dayMs, now - dayMs],
    ["is not valid before", now + dayMs, now + 2 * dayMs],
  ] as const) {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      test(`is named when the registry refuses it: ours ${what} … (${maxVersion})`, async (context) => {
        const term = { from: new Date(from), until: new Date(until) };
        const ours = await createCertificate("ours", undefined, term);
        const tls = { cert: ours.cert, key: key(ours) };
        await assertRefused(
          logIn(context, tls, { clientCa: ours.cert, maxVersion }),
          new RegExp(`connect: our client certificate ${what} [0-9T:.-]+Z, and the registry closed the connection$`),
        );
      });
    }
  }
});

describe("the registry's own certificate", () => {
  test("must be signed by a configured authority, regardless of the environment", async (context) => {
    const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      await assertRefused(logIn(context, { ca: other.cert }), /not signed by an authority in caFile/);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test("must be for the configured name", async (context) => {
    await assertRefused(logIn(context, { servername: "epp.example" }), /for another name than servername/);
  });

  test("may be for an address, which is not sent as SNI (RFC 6066 §3)", async (context) => {
    const addressed = await createCertificate("addressed", { type: 7, ip: "127.0.0.1" });
    const tls = { ca: addressed.cert, servername: "127.0.0.1" };
    const { standIn, pool } = await startFixture(context, { tls }, { certificate: addressed });
    (await pool.acquire("check", { waitMs })).release();
    assert.deepEqual(standIn.servernames, [false]);
    await assertRefused(
      logIn(context, { ca: addressed.cert, servername: "127.0.0.2" }, { certificate: addressed }),
      /another name than servername/,
    );
  });

  test("may be signed by any of several configured authorities, e.g. while one is replaced", async (context) => {
    assert.equal((await logIn(context, { ca: `${other.cert}\n${registry.cert}` })).failure, undefined);
  });

  test("is always verified: no profile has a field that switches it off", async () => {
    const folder = await mkdtemp(join(tmpdir(), "deedhouse-profile-"));
    try {
      const entry = { id: "x", host: "x", port: 700, caFile: "ca.pem", registrarId: "abc", password: "secret-1" };
      for (const field of ["rejectUnauthorized", "verify", "insecure", "tls", "checkServerIdentity"]) {
        const file = join(folder, "registries.json");
        await writeFile(file, JSON.stringify([{ ...entry, suffixes: ["test"], [field]: false }]));
        assert.throws(() => loadRegistries(file), /registries\.json/, field);
      }
      assert.throws(
        () => completeProfile({ ...entry, suffixes: ["test"] }, () => assert.fail("reads caFile")),
        /caFile/,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("TLS", () => {
  test("older than 1.2 is refused", async (context) => {
    await assertRefused(logIn(context, {}, { maxVersion: "TLSv1.1" }), /does not support TLS 1\.2 or newer/);
  });

  test("is missing where another protocol answers, and the error says so", async (context) => {
    const server = createServer((socket) => socket.on("error", () => {}).end(encodeFrame(greetingXml)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { pool } = await startFixture(context, { port });
    await assert.rejects(pool.acquire("check", { waitMs }), {
      message: /the server does not speak TLS: are host and/,
    });
  });

  test("1.2 and 1.3 are supported", async (context) => {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      assert.equal((await logIn(context, {}, { maxVersion })).failure, undefined);
    }
  });
});
