/** The one-time token that makes a server a node: the gateway's address, the key that it must present, and a secret. */
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { Secret } from "#lib/secret.ts";

const tokenPrefix = "dhnode_";

const Content = Type.Object({
  url: Type.String(),
  pin: Type.Union([Type.String(), Type.Null()]),
  secret: Type.String(),
});

export interface JoinToken {
  /** `https://gateway.example:7443` */
  url: string;
  /**
   * SHA-256 of the public key in the gateway's certificate, base64url; no other key is trusted. Null: the certificate must come
   * from an authority that the server trusts.
   */
  pin: string | null;
  secret: Secret;
}

export function formatJoinToken({ url, pin, secret }: JoinToken): Secret {
  const content: Static<typeof Content> = { url, pin, secret: secret.reveal() };
  return new Secret(tokenPrefix + Buffer.from(JSON.stringify(content)).toString("base64url"));
}

/**
 * @param text the token, or all that `deedhouse node token` prints
 * @throws Error that says what to do, without repeating the token
 */
export function parseJoinToken(text: string): JoinToken {
  const words = text.split(/[\s"]+/).filter((word) => word.startsWith(tokenPrefix));
  const content = words.length === 1 ? parseJson(words[0]!.slice(tokenPrefix.length)) : undefined;
  if (!Value.Check(Content, content)) {
    throw new Error(
      `This is not a node's token. A token is one long word that begins with ${tokenPrefix}: copy all of it.`,
    );
  }
  return { ...content, secret: new Secret(content.secret) };
}

function parseJson(base64: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
