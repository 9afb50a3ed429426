import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { parseState, type StateDocument, signState, UntrustedState } from "#nodes/agent/state-document.ts";

const gateway = generateKeyPairSync("ed25519");
const document: StateDocument = {
  node: "web-1",
  counter: 7,
  after: 3,
  version: 5,
  head: 5,
  issuedAt: "2026-11-21T00:00:00.000Z",
  accounts: [{ version: 5, removed: { identifier: "a.example", uid: 200_001 } }],
  questions: [],
};
const expected = { node: "web-1", counter: 7, after: 3, head: 4, gatewayKey: gateway.publicKey };

test("a node takes its state from its gateway, byte for byte", () => {
  const { body, signature } = signState(document, gateway.privateKey);
  assert.deepEqual(parseState(body, signature, expected), document);
  for (const place of [0, 10, body.length - 1]) {
    const changed = Buffer.from(body);
    changed[place]! ^= 1;
    assert.throws(() => parseState(changed, signature, expected), UntrustedState);
  }
  const stranger = generateKeyPairSync("ed25519");
  assert.throws(() => parseState(body, signState(document, stranger.privateKey).signature, expected), UntrustedState);
  assert.throws(() => parseState(body, "", expected), UntrustedState);
});

const wrong: [string, Partial<StateDocument>][] = [
  ["another node's state", { node: "web-2" }],
  ["the answer to an earlier request", { counter: 6 }],
  ["changes after a version that it did not ask for", { after: 2 }],
  ["a state older than what it has seen", { head: 3, version: 3 }],
  ["a version beyond the gateway's newest", { version: 6 }],
];
for (const [what, change] of wrong) {
  test(`a node refuses ${what}, although its gateway signed it`, () => {
    const { body, signature } = signState({ ...document, ...change }, gateway.privateKey);
    assert.throws(() => parseState(body, signature, expected), UntrustedState);
  });
}

test("a node refuses a state of a form that it does not know", () => {
  const account = { identifier: "../x", uid: 1 };
  const unknown = { ...document, accounts: [{ version: 5, removed: account }] };
  const { body, signature } = signState(unknown, gateway.privateKey);
  assert.throws(() => parseState(body, signature, expected), UntrustedState);
});
