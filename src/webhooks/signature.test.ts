import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { newWebhookSecret, webhookHeaders } from "#webhooks/signature.ts";

test("signs as the example of the Standard Webhooks libraries", () => {
  const secret = new Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const content = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
  assert.deepEqual(webhookHeaders(content, [secret]), {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("a secret has 32 random bytes", () => {
  const [one, two] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)].map((secret) => secret.reveal());
  assert.match(one!, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(one, two);
});
