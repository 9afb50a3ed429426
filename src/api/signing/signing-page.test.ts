import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { accepts, parse } from "#api/signing/test-message-signature-client.ts";
import { keyId, secret, vectors } from "#api/signing/test-signature-client.ts";

// docs/signing.md promises that its examples are correct and its code signs. This test runs them.

const page = readFileSync(new URL("../../../docs/signing.md", import.meta.url), "utf8");
const code = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block = ""]) => block);
const functions = Object.assign({}, ...(await Promise.all(code.map(importText))));

function importText(text: string): Promise<object> {
  return import(`data:text/javascript,${encodeURIComponent(text)}`);
}

function requestOf(name: string) {
  const vector = vectors.valid.find((candidate) => candidate.name === name);
  assert.ok(vector);
  const [, signature = "", nonce = "", timestamp = ""] = vector.authorization.split(":");
  return { ...vector, key: keyId, secret, signature, nonce, timestamp: Number(timestamp) };
}
const [list, order] = [requestOf("V2"), requestOf("V3")];

test("the page shows the credentials and the published vectors", () => {
  for (const text of [keyId, secret, list.signature, order.authorization]) assert.ok(page.includes(text), text);
  const shown = [...page.matchAll(/^string to sign {2}(\S+)\nsignature {7}(\S+)$/gm)].map(
    ([, text = "", signature]) => {
      assert.equal(createHmac("sha256", secret).update(text).digest("base64"), signature);
      return signature;
    },
  );
  assert.deepEqual(shown, [list.signature, order.signature]);
});

test("the page's code for the Authorization header signs the published vectors", () => {
  for (const request of [list, order]) assert.equal(functions.authorization(request), request.authorization);
});

test("the page's code for message signatures makes its example, which is accepted", () => {
  const headers = functions.signatureHeaders(order);
  for (const value of Object.values(headers)) assert.ok(page.includes(`: ${value}`), String(value));
  assert.ok(accepts({ ...order, authority: "api.example", body: Buffer.from(order.body), headers }));
  const { components, params } = parse(headers) ?? {};
  assert.deepEqual(components, ["@method", "@path", "@query", "content-digest"]);
  assert.ok(page.includes(`"@signature-params": ${params}`));
});

test("the page's code for message signatures signs a request without a body", () => {
  const headers = functions.signatureHeaders(list);
  assert.ok(accepts({ ...list, authority: "api.example", body: Buffer.alloc(0), headers }));
});
