/**
 * What the service builds from a request before it verifies the signature: for clients whose signature is refused. It uses the
 * very functions of the check, and knows no key.
 */
import { hash } from "node:crypto";
import { readCredentials, type SentRequest, signingHeadersOf } from "#api/signing/credentials.ts";
import {
  findBodyMistake,
  findUnsignable,
  type MessageSignature,
  readMessageSignature,
  signatureBase,
} from "#api/signing/message-signature.ts";
import {
  bodyDigest,
  findAuthorizationMistake,
  type HeaderMistake,
  isSignatureForm,
  parseAuthorization,
  stringsToSign,
} from "#api/signing/signature.ts";
import type { TimesJudgement, UseCaseRequest } from "#use-case/use-case.ts";

const signatureBytes = 32;

/** A part of the answer, and what is wrong with the headers that it is about. */
interface Part {
  shown: object | null;
  problems: HeaderMistake[];
}

/** The answer of `POST /signature-check`. It has no signature in it. */
export function explainSignature(request: SentRequest, judgeTimes: UseCaseRequest["judgeTimes"]) {
  const { headers } = request;
  const credentials = readCredentials(request);
  const times = judgeTimes(credentials);
  const authorization = explainAuthorization(request);
  const message = explainMessageSignature(request);
  const form = formOf(headers);
  const timestampHeader = form === "authorization" ? "authorization" : "signature-input";
  return {
    form,
    api_key: credentials?.keyId ?? null,
    nonce: credentials?.nonce ?? null,
    clock: presentTimes(times, credentials?.timestamp),
    body: presentBody(request.body),
    authorization: authorization.shown,
    message_signature: message.shown,
    problems: [
      ...findMissing(headers),
      ...authorization.problems,
      ...message.problems,
      ...(times.problem === undefined ? [] : [{ header: timestampHeader, problem: times.problem }]),
    ],
  };
}

/** The form that the check would read; null for a request without a signature. */
function formOf({ authorization, ...headers }: SentRequest["headers"]) {
  if (authorization !== undefined) return "authorization";
  return headers["signature-input"] !== undefined || headers.signature !== undefined ? "message-signature" : null;
}

function findMissing(headers: SentRequest["headers"]): HeaderMistake[] {
  const { authorization, signature, "signature-input": input } = headers;
  if (authorization !== undefined) {
    if (input === undefined && signature === undefined) return [];
    const problem = "The request has an Authorization header too, so this one is ignored. Send one of the two forms.";
    return [{ header: input === undefined ? "signature" : "signature-input", problem }];
  }
  if (input === undefined && signature === undefined) {
    const problem = "It is missing. Send it, or sign by RFC 9421 with Signature-Input and Signature.";
    return [{ header: "authorization", problem }];
  }
  const missing = [
    ...(input === undefined ? ["signature-input"] : []),
    ...(signature === undefined ? ["signature"] : []),
  ];
  return missing.map((header) => ({
    header,
    problem: "It is missing. A message signature needs both of its headers.",
  }));
}

function explainAuthorization(request: SentRequest): Part {
  const header = request.headers.authorization;
  if (header === undefined) return { shown: null, problems: [] };
  const authorization = parseAuthorization(header);
  const mistake = findAuthorizationMistake(header);
  if (!authorization) return { shown: null, problems: mistake ? [mistake] : [] };
  const texts = [...stringsToSign({ ...request, authorization })];
  const problem = `The signature has ${authorization.signature.length} characters; the base64 of ${signatureBytes} bytes has 44 and ends in "=".`;
  return {
    // All of them are visible ASCII: nothing can hide in them.
    shown: { strings_to_sign: texts.map((text) => ({ text, bytes: text.length })) },
    problems: isSignatureForm(authorization.signature) ? [] : [{ header: "authorization", problem }],
  };
}

function explainMessageSignature(request: SentRequest): Part {
  const { headers, body } = request;
  if (headers["signature-input"] === undefined || headers.signature === undefined) return { shown: null, problems: [] };
  const signature = readMessageSignature(signingHeadersOf(headers));
  if ("problem" in signature) return { shown: null, problems: [signature] };
  const message = { ...request, authority: headers.host };
  const base = signatureBase(message, signature);
  const problems = [
    findBodyMistake(signature, body),
    base === undefined ? describeUnsignable(findUnsignable(message, signature) ?? "", headers) : undefined,
    signature.signature.length === signatureBytes ? undefined : wrongLength(signature),
  ];
  return {
    shown: {
      signature_base: base === undefined ? null : presentBase(base),
      content_digests: presentDigests(signature, body),
    },
    problems: problems.filter((problem) => problem !== undefined),
  };
}

function describeUnsignable(component: string, headers: SentRequest["headers"]): HeaderMistake {
  const header = component === "@authority" ? "host" : component;
  const problem =
    headers[header] === undefined
      ? "The signature covers it, but the request does not have it."
      : "The signature covers it, but it has characters outside of ASCII.";
  return { header, problem };
}

const wrongLength = ({ signature }: MessageSignature): HeaderMistake => ({
  header: "signature",
  problem: `It has ${signature.length} bytes; an HMAC-SHA256 has ${signatureBytes}.`,
});

function presentBase(text: string) {
  return { text, bytes: text.length, base64: Buffer.from(text, "latin1").toString("base64") };
}

function presentDigests({ contentDigest }: MessageSignature, body: Buffer) {
  return (contentDigest?.digests ?? []).map(({ name, algorithm, digest }) => {
    const own = hash(algorithm, body, "base64");
    return { algorithm: name, sent: digest.toString("base64"), of_body: own, equal: digest.toString("base64") === own };
  });
}

function presentTimes({ serverTime, windowSeconds, skewSeconds, problem }: TimesJudgement, timestamp?: number) {
  return {
    server_time: serverTime.toISOString(),
    server_timestamp: Math.floor(serverTime.getTime() / 1000),
    window_seconds: windowSeconds,
    ...(timestamp !== undefined && {
      timestamp,
      skew_seconds: skewSeconds,
      inside_window: Math.abs(skewSeconds ?? 0) <= windowSeconds,
      accepted: problem === undefined,
    }),
  };
}

/** What each form says about the body. */
function presentBody(body: Buffer) {
  return {
    bytes: body.length,
    md5: bodyDigest(body),
    sha256: hash("sha256", body, "base64"),
    sha512: hash("sha512", body, "base64"),
  };
}
