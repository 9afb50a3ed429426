import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { callsToReset, resetAtRandom } from "../../harness/random-resets.ts";
import { seededRandom } from "../../harness/seeded-random.ts";
import type { Attack } from "../attack.ts";

const [roundCount, atOnce] = [200, 20];

export const attack: Attack = {
  name: "resets",
  about: `${atOnce} clients with a key, whose connections are reset at random moments of every call, streams and CSV included`,
  victim: "signed-read",
  async run({ url, api_key: id, api_secret: secret }, signal) {
    const options = {
      url,
      keys: [{ id, secret: new Secret(secret) }],
      clock: systemClock,
      calls: callsToReset("victim.example"),
      random: seededRandom(1),
      localAddress: "127.0.0.66",
    };
    while (!signal.aborted) await resetAtRandom(options, roundCount, atOnce);
  },
};
