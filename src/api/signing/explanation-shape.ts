/** What `POST /signature-check` answers. */
import Type from "typebox";
import { checkedByHand, instant } from "#use-case/docs.ts";

/** A request as its sender describes it. */
export const descriptionShape = Type.Object(
  {
    method: Type.String({ description: "As it was sent, in upper case." }),
    target: Type.String({ description: "Path and query, exactly as they were sent." }),
    headers: checkedByHand(
      Type.Union([
        Type.Record(Type.String(), Type.String()),
        Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 })),
      ]),
    ),
    body: Type.Optional(Type.String({ description: "As text." })),
    body_base64: Type.Optional(Type.String({ description: "As base64, for bytes that are no text." })),
  },
  {
    examples: [
      {
        method: "GET",
        target: "/v1/domains?skip=0&take=10",
        headers: {
          authorization:
            "hmac 0a1b2c3d4e5f60718293a4b5c6d7e8f9:KM1Up3v7UmM51ZowynWjX5TfZDdT/snMdDDP9+SW9jU=:5f0c3a1b2d4e7:1700000001",
        },
      },
    ],
  },
);

const optional = (shape: Type.TSchema) => Type.Union([shape, Type.Null()], { examples: [null] });
const count = (description: string, example: number) => Type.Integer({ description, examples: [example] });
const base64 = (description: string) => Type.String({ description, examples: [""] });

const clockShape = Type.Object({
  server_time: instant,
  server_timestamp: count("The same in unix seconds.", 1_826_761_167),
  window_seconds: count("How far a timestamp may be from it.", 300),
  timestamp: Type.Optional(count("The request's.", 1_700_000_001)),
  skew_seconds: Type.Optional(count("How far the timestamp is ahead.", -126_761_166)),
  inside_window: Type.Optional(Type.Boolean()),
  accepted: Type.Optional(Type.Boolean()),
});

const bodyShape = Type.Object({
  bytes: count("The length of the body.", 0),
  md5: base64("Base64, as the Authorization header's signature has it; empty without a body."),
  sha256: base64("Base64, for Content-Digest."),
  sha512: base64("Base64, for Content-Digest."),
});

const authorizationShape = Type.Object({
  strings_to_sign: Type.Array(Type.Object({ text: Type.String(), bytes: Type.Integer() }), {
    description: "The first is what a new client signs; the others are what older clients sign.",
  }),
});

const messageSignatureShape = Type.Object({
  signature_base: optional(
    Type.Object(
      { text: Type.String(), bytes: Type.Integer(), base64: Type.String() },
      { description: "RFC 9421 §2.5." },
    ),
  ),
  content_digests: Type.Array(
    Type.Object({
      algorithm: Type.String(),
      sent: Type.String(),
      of_body: Type.String(),
      equal: Type.Boolean(),
    }),
  ),
});

const matchShape = Type.Object({
  key: Type.String({ description: "`active`, `revoked`, `expired`, or `unknown` if it is not a key of yours." }),
  signed: Type.Union([Type.Boolean(), Type.Null()]),
  string_to_sign: Type.Optional(Type.Integer({ description: "Which of `strings_to_sign` was signed." })),
  text: Type.String(),
});

export const explanationShape = Type.Object(
  {
    form: optional(Type.String({ description: "`authorization` or `message-signature`." })),
    api_key: optional(Type.String()),
    nonce: optional(Type.String()),
    clock: clockShape,
    body: bodyShape,
    authorization: optional(authorizationShape),
    message_signature: optional(messageSignatureShape),
    problems: Type.Array(Type.Object({ header: Type.String(), problem: Type.String() }), { examples: [[]] }),
    match: Type.Optional(
      Type.Union([matchShape, Type.Null()], {
        description: "Only if this call is signed: whether a key of your account signed the described request.",
      }),
    ),
  },
  { title: "SignatureExplanation" },
);
