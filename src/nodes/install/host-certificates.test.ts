import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, rename, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { systemClock } from "#lib/clock.ts";
import { makeCertificate } from "#nodes/certificate.ts";
import { cannotStart, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { testAccount } from "#nodes/test-account.ts";

const uid = 200_001;
/** A TLS alert in the place of a certificate. */
const refused = "EPROTO";

/** As an ACME client's hook does it: written beside it, readable for nginx's workers, put there in one moment. */
async function putCertificate({ settings }: TestProftpdNode, host: string, certifiedName = host): Promise<void> {
  const folder = settings.web.tls?.certificatesFolder ?? assert.fail("the node has no certificates");
  const unfinished = join(folder, `.${host}.new`);
  await writeFile(unfinished, await makeCertificate(certifiedName, [], systemClock), { mode: 0o640 });
  await chown(unfinished, 0, Number(execFileSync("id", ["-g", settings.web.user], { encoding: "utf8" })));
  await rename(unfinished, join(folder, `${host}.pem`));
}

/** The certificate's name and the page's status, or what ended the handshake. */
async function ask({ webTls }: TestProftpdNode, servername: string, host = servername): Promise<string> {
  const options = { ...webTls, servername, headers: { host }, agent: false, rejectUnauthorized: false };
  const sent = request({ ...options, path: "/" }).end();
  try {
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.resume();
    return `${(response.socket as TLSSocket).getPeerCertificate().subject.CN} ${response.statusCode}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

if (cannotStart) test("certificates of customers' host names", { skip: cannotStart }, () => {});
else {
  const node = await startTestProftpdNode();
  after(() => node.close());
  await node.node.ensureAccount(testAccount("one.customer.example", uid, { hostNames: ["shop.example"] }));
  const www = join(node.paths.homes, String(uid), "www");
  await writeFile(join(www, "index.html"), "shop");
  const folder = node.settings.web.tls!.certificatesFolder;

  test("a name without a certificate gets none, and no other name's", async () => {
    assert.equal(await ask(node, "shop.example"), refused);
    assert.equal(await ask(node, "unknown.example"), refused);
    assert.equal(await ask(node, "", "shop.example"), refused);
    assert.match(await ask(node, "one.customer.example.sites.test"), / 200$/);
  });

  test("a certificate that is put there is served at once, and so is the one after it", async () => {
    await putCertificate(node, "shop.example");
    assert.equal(await ask(node, "shop.example"), "shop.example 200");
    await putCertificate(node, "shop.example", "*.example");
    assert.equal(await ask(node, "shop.example"), "*.example 200");
    await rm(join(folder, "shop.example.pem"));
    assert.equal(await ask(node, "shop.example"), refused);
  });

  test("a certificate for a name whose site is gone shows nobody's site", async () => {
    await putCertificate(node, "gone.example");
    assert.equal(await ask(node, "gone.example"), "gone.example 404");
  });

  test("no name of a client's leads to a file elsewhere", async () => {
    const outside = await makeCertificate("outside", [], systemClock);
    await mkdir(join(folder, "sub"));
    for (const file of ["../outside.pem", "sub/inside.pem"])
      await writeFile(join(folder, file), outside, { mode: 0o644 });
    for (const name of ["../outside", "sub/inside", "..%2foutside", "a/../../outside"]) {
      assert.doesNotMatch(await ask(node, name, "shop.example"), / 200$/, name);
    }
  });
}
