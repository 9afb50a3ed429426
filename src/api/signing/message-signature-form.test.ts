import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseMessageSignature, verifyMessageSignature } from "#api/signing/message-signature.ts";
import { parse, plain, signed, withBody } from "#api/signing/test-message-signature-client.ts";
import { keyId, secret } from "#api/signing/test-signature-client.ts";

/** Whether the headers still parse after one of them is changed. */
function reads(name: "signature-input" | "signature" | "content-digest", change: (header: string) => string): boolean {
  const { headers } = signed(withBody);
  return parse({ ...headers, [name]: change(headers[name] ?? "") }) !== undefined;
}

test("reads what the headers say", () => {
  const more = ';expires=1700000031;alg="hmac-sha256";tag="a \\"b\\"; c"';
  const { headers } = signed({ ...withBody, more });
  const { signature, contentDigest, ...rest } = parse(headers) ?? {};
  const input = headers["signature-input"] ?? "";
  assert.deepEqual(rest, {
    keyId,
    nonce: "5f0c3a1b2d4e7",
    timestamp: 1700000001,
    expires: 1700000031,
    components: ["@method", "@path", "@query", "@authority", "idempotency-key", "content-digest"],
    params: input.slice("sig1=".length),
  });
  assert.equal(`sig1=:${signature?.toString("base64")}:`, headers.signature);
  assert.equal(contentDigest?.text, headers["content-digest"]);
  assert.equal(parse(signed(plain).headers)?.expires, undefined);
});

test("needs method, path, query and the parameters keyid, created and nonce", () => {
  const removed = ['"@method" ', '"@path" ', '"@query" ', `;keyid="${keyId}"`, ";created=1700000001"];
  for (const part of [...removed, ';nonce="5f0c3a1b2d4e7"']) {
    assert.ok(signed(withBody).headers["signature-input"]?.includes(part), part);
    assert.equal(
      reads("signature-input", (input) => input.replace(part, "")),
      false,
      part,
    );
  }
  for (const header of ["signature-input", "signature", "content-digest"]) {
    assert.equal(parse({ ...signed(withBody).headers, [header]: undefined }), undefined, header);
  }
});

test("reads the forms that structured fields allow for the same thing, and signs the canonical one", () => {
  const { headers } = signed(withBody);
  const input = headers["signature-input"] ?? "";
  const spaced = input.replace("(", "(  ").replace(")", " )").replaceAll('" "', '"   "').replaceAll(";", ";  ");
  assert.equal(parse({ ...headers, "signature-input": ` ${spaced}  ` })?.params, input.slice("sig1=".length));
  for (const label of ["a", "*", "sig-1_b.c*"]) {
    const rename = (header = "") => header.replace("sig1", label);
    const renamed = { ...headers, "signature-input": rename(input), signature: rename(headers.signature) };
    assert.ok(parse(renamed), label);
  }
});

test("refuses a Signature-Input of any other form", () => {
  const replacements: [from: string | RegExp, to: string][] = [
    ["sig1", "Sig1"],
    ["sig1", "sig2"],
    ["sig1=", ""],
    ["sig1=", "sig1 = "],
    ["(", ""],
    [")", ""],
    [/\(.*\)/, "()"],
    [/\(.*\)/, ""],
    ['"@method"', "@method"],
    ['"@method"', '"@METHOD"'],
    ['"@method" ', '"@method"'],
    ['"@method" ', '"@method"\t'],
    ['"@method"', '"@method" "@method"'],
    ['"@method"', '"@method";req'],
    ['"idempotency-key"', '"idempotency-key";sf'],
    ['"idempotency-key"', '"idempotency-key" "idempotency-key"'],
    ['"idempotency-key"', '"Idempotency-Key"'],
    ['"idempotency-key"', '"idempotency key"'],
    ['"idempotency-key"', '"@"'],
    ['"idempotency-key"', '""'],
    ['"@authority"', '"@target-uri"'],
    ['"@authority"', '"@request-target"'],
    ['"@authority"', '"@scheme"'],
    ['"@authority"', '"@status"'],
    ['"@authority"', '"@signature-params"'],
    ['"@authority"', '"@query-param";name="take"'],
    [keyId, keyId.toUpperCase()],
    [keyId, keyId.slice(1)],
    [`"${keyId}"`, keyId],
    ["5f0c3a1b2d4e7", ""],
    ["5f0c3a1b2d4e7", "a b"],
    ["5f0c3a1b2d4e7", "a/b"],
    ["5f0c3a1b2d4e7", "n".repeat(129)],
    ["1700000001", "170000000"],
    ["1700000001", "17000000010"],
    ["1700000001", "0700000001"],
    ["1700000001", "1700000001.0"],
    ["1700000001", '"1700000001"'],
    [/$/, ';alg="hmac-sha512"'],
    [/$/, ';alg="hmac-sha256";alg="hmac-sha256"'],
    [/$/, ";alg=hmac-sha256"],
    [/$/, ";created=1700000001"],
    [/$/, `;keyid="${keyId}"`],
    [/$/, ";expires=-1"],
    [/$/, ';expires="1700000001"'],
    [/$/, ";expires"],
    [/$/, ';tag="a\\b"'],
    [/$/, ';tag="é"'],
    [/$/, ';tag="a'],
    [/$/, ';constructor="a"'],
    [/$/, ";"],
    [/$/, " ;"],
    [/$/, ","],
    [/$/, "\n"],
    [/$/, ', sig2=("@method")'],
  ];
  assert.ok(reads("signature-input", (input) => input));
  for (const [from, to] of replacements) {
    assert.equal(
      reads("signature-input", (input) => input.replace(from, to)),
      false,
      `${from} → ${to}`,
    );
  }
});

test("refuses a Signature of any other form", () => {
  const changes: ((header: string) => string)[] = [
    (header) => header.replaceAll(":", ""),
    (header) => header.replaceAll(":", '"'),
    (header) => header.replace("=:", "="),
    (header) => header.slice(0, -1),
    (header) => header.replace(/=:$/, ":"),
    (header) => header.replace(/.=:$/, "/=:"),
    (header) => header.replace(/=:$/, "==:"),
    (header) => `${header};a=1`,
    (header) => `${header}, sig2=:AAAA:`,
    (header) => `${header}, ${header}`,
    (header) => header.replace("sig1", "sig2"),
    () => "sig1=::",
    () => "",
  ];
  assert.ok(reads("signature", (header) => header));
  for (const change of changes) assert.equal(reads("signature", change), false, change.toString());
});

test("never throws, whatever the headers are", () => {
  const { headers } = signed({ ...withBody, more: ';expires=1700000031;alg="hmac-sha256";tag="a"' });
  const tokens = [
    '"',
    "(",
    ")",
    ";",
    "=",
    ":",
    ",",
    " ",
    "\\",
    "sig1",
    '"@method"',
    "created=1",
    "sha-256",
    "AAAA",
    "é",
    "\n",
  ];
  const noise = fc.array(fc.oneof(fc.constantFrom(...tokens), fc.string({ unit: "binary", maxLength: 3 })));
  const bent = (header = "") =>
    fc
      .tuple(fc.nat(header.length), fc.nat(4), noise)
      .map(([at, cut, put]) => header.slice(0, at) + put.join("") + header.slice(at + cut));
  const anyOf = (name: string) =>
    fc.option(
      fc.oneof(
        bent(headers[name]),
        fc.constant(headers[name]),
        noise.map((parts) => parts.join("")),
      ),
      { nil: undefined },
    );
  fc.assert(
    fc.property(
      anyOf("signature-input"),
      anyOf("signature"),
      anyOf("content-digest"),
      (signatureInput, signature, contentDigest) => {
        const parsed = parseMessageSignature({ signatureInput, signature, contentDigest });
        if (!parsed) return;
        // A changed input that parses signs nothing but the request it was made for.
        const sent = { ...signed(withBody), secret, signature: parsed };
        const same = parsed.params === headers["signature-input"]?.slice("sig1=".length);
        if (!same) assert.equal(verifyMessageSignature(sent), false);
      },
    ),
    { numRuns: 500 },
  );
});
