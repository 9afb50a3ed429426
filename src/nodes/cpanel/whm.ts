/**
 * WHM API 1 over HTTPS, as documented at api.docs.cpanel.net. All parameters go in the body of a POST, because servers log
 * URLs. An answer that is late, truncated, too long, not 200 or not of the documented form proves nothing about the change:
 * the caller has to read the account.
 */

import type { IncomingMessage } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import { type TSchema, Type } from "typebox";
import { Value } from "typebox/value";
import type { Secret } from "#lib/secret.ts";
import { readAnswerBody } from "#nodes/answer-body.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

/** A panel takes 5 to 30 s to create an account. */
const requestMsDefault = 120_000;
/** A list of 30,000 accounts at some 1,000 bytes each. */
const answerBytesMax = 32 * 1024 * 1024;
const reasonCharsMax = 300;

export interface WhmSettings {
  /** `https://panel.example.net:2087` */
  url: string;
  user: string;
  token: Secret;
  /** PEM: trusted instead of the system's authorities. A self-signed certificate is its own authority. */
  ca: string | undefined;
  requestMs?: number;
}

/** Values may be secret, so errors never contain them. */
type Parameters = Readonly<Record<string, string | number>>;

export interface WhmAnswer {
  /** Whether the panel reports success. */
  isOk: boolean;
  /** The panel's text, with secrets masked. */
  reason: string;
  data: unknown;
}

export interface Whm {
  /** @throws NodeUnavailable without a usable answer: the change may have happened */
  call(name: string, parameters: Parameters, secrets?: readonly Secret[]): Promise<WhmAnswer>;
  /** Calls a function of UAPI on behalf of an account. @throws NodeUnavailable */
  uapi(
    user: string,
    module: string,
    name: string,
    parameters: Parameters,
    secrets?: readonly Secret[],
  ): Promise<WhmAnswer>;
}

const Metadata = Type.Object({ result: Type.Union([Type.Literal(0), Type.Literal(1)]), reason: Type.String() });
const Whole = Type.Object({ metadata: Metadata, data: Type.Optional(Type.Unknown()) });
const Uapi = Type.Object({
  uapi: Type.Object({
    status: Type.Union([Type.Literal(0), Type.Literal(1)]),
    errors: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
    data: Type.Optional(Type.Unknown()),
  }),
});

/** Needs no close: every call opens a connection. */
export function createWhm({ url, user, token, ca, requestMs = requestMsDefault }: WhmSettings): Whm {
  // Without session resumption, every connection checks the certificate.
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  const call: Whm["call"] = async (name, parameters, secrets = []) => {
    const form = new URLSearchParams({ "api.version": "1" });
    for (const [key, value] of Object.entries(parameters)) form.set(key, String(value));
    const options: RequestOptions = {
      method: "POST",
      agent,
      minVersion: "TLSv1.2",
      signal: AbortSignal.timeout(requestMs),
      ...(ca !== undefined && { ca }),
      headers: {
        authorization: `whm ${user}:${token.reveal()}`,
        "content-type": "application/x-www-form-urlencoded",
      },
    };
    const answer = await ask(new URL(`/json-api/${name}`, url), options, form.toString(), name);
    const { metadata, data } = parse(Whole, answer, name);
    return { isOk: metadata.result === 1, reason: readable(metadata.reason, [token, ...secrets]), data };
  };
  return {
    call,
    async uapi(account, module, name, parameters, secrets = []) {
      const named = { "cpanel.user": account, "cpanel.module": module, "cpanel.function": name };
      const answer = await call("uapi_cpanel", { ...parameters, ...named }, secrets);
      if (!answer.isOk) return answer;
      const { uapi } = parse(Uapi, answer.data, `${module}::${name}`);
      const reason = readable((uapi.errors ?? []).join(" "), [token, ...secrets]);
      return { isOk: uapi.status === 1, reason, data: uapi.data };
    },
  };
}

/** @throws NodeUnavailable, which names only the function */
async function ask(url: URL, options: RequestOptions, body: string, name: string): Promise<unknown> {
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const question = request(url, options, resolve);
      question.on("error", reject);
      question.end(body);
    });
    if (response.statusCode !== 200) {
      response.destroy();
      throw new NodeUnavailable(`the panel answered ${name} with HTTP ${response.statusCode}`);
    }
    return JSON.parse((await readAnswerBody(response, answerBytesMax)).toString("utf8"));
  } catch (error) {
    if (error instanceof NodeUnavailable) throw error;
    // A parser's message quotes the answer, which may contain secrets; an error code does not.
    const { code, name: kind } = error as NodeJS.ErrnoException;
    throw new NodeUnavailable(`the panel gave no usable answer to ${name}: ${code ?? kind}`);
  }
}

/** @throws NodeUnavailable */
export function parse<Schema extends TSchema>(schema: Schema, value: unknown, name: string) {
  if (Value.Check(schema, value)) return value;
  throw new NodeUnavailable(`the panel's answer to ${name} does not have the documented form`);
}

/** One line, for logs and operators. */
function readable(reason: string, secrets: readonly Secret[]): string {
  let text = reason;
  for (const secret of secrets) text = text.replaceAll(secret.reveal(), "[secret]");
  return text
    .replace(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, reasonCharsMax);
}
