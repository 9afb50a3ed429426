import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

/** RFC 9154 §4.1 asks for at least 128 random bits. */
const randomBytes = 16;
/** Many registries demand a digit, both cases and a special character; the random part may lack any of them. */
const everyClass = "-7Qz";

/** A new authInfo: 26 printable characters, which registries with a limit of 32 take too. */
export function newAuthCode(random: Random): Secret {
  return new Secret(random.bytes(randomBytes).toString("base64url") + everyClass);
}
