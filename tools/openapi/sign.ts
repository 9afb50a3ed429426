/** Signs requests as docs/signing.md explains it. */
import { createHash, createHmac, randomBytes } from "node:crypto";

export interface Credentials {
  key: string;
  secret: string;
}

/** A copy of the request with its Authorization header. */
export async function sign(request: Request, { key, secret }: Credentials): Promise<Request> {
  const { pathname, search } = new URL(request.url);
  const body = Buffer.from(await request.clone().arrayBuffer());
  const timestamp = Math.floor(Date.now() / 1000);
  const nonce = randomBytes(16).toString("hex");
  const digest = body.length === 0 ? "" : createHash("md5").update(body).digest("base64");
  const target = encodeURIComponent(pathname + search);
  const text = key + request.method.toLowerCase() + target + timestamp + nonce + digest;
  const signature = createHmac("sha256", secret).update(text).digest("base64");
  const signed = new Request(request);
  signed.headers.set("authorization", `hmac ${key}:${signature}:${nonce}:${timestamp}`);
  return signed;
}
