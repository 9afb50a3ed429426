import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { matchRoute, routes } from "#api/routes.ts";
import { stringsToSign } from "#api/signing/signature.ts";
import { sign } from "#api/signing/test-signature-client.ts";
import { readTarget } from "#api/target.ts";
import { v2Routes } from "#api/v2/routes.ts";
import { seed } from "./seed.ts";

/** What a use case gets to see of a target. */
function meaningOf(method: string, target: string) {
  const { segments, query } = readTarget(target);
  const { route, ...matched } = matchRoute(method, segments) ?? {};
  return { ...matched, useCase: route?.path, query: [...query] };
}

function signedStrings(method: string, target: string): Set<string> {
  const authorization = sign({ encoded: "x" });
  return new Set(stringsToSign({ method, target, body: Buffer.alloc(0), authorization }));
}

function haveOneSignature(method: string, left: string, right: string): boolean {
  const strings = signedStrings(method, right);
  return [...signedStrings(method, left)].some((text) => strings.has(text));
}

test("names and values of a query, and every part of a path, are read in any case", () => {
  for (const [left, right] of [
    ["/domains?take=1&cursor=ab", "/domains?TAKE=1&Cursor=AB"],
    ["/renewals?status=due", "/RENEWALS?Status=DUE"],
    ["/v1/domains/hello.example", "/V1/Domains/HELLO.example"],
    ["/domains/hello.example/renew", "/%64omains/hello%2Eexample/Renew"],
    ["/domains/registrations/reg-00000000-000", "/domains/registrations/REG-00000000-000"],
  ] as const) {
    assert.ok(haveOneSignature("GET", left, right), `${left} ${right}`);
    assert.deepEqual(meaningOf("GET", left), meaningOf("GET", right));
  }
});

const paths = [...routes, ...v2Routes].map(({ path }) => path.replaceAll(/:[a-z_]+/g, "x-1.Example"));
const piece = fc.constantFrom(
  ...[
    "/",
    "?",
    "&",
    "=",
    "+",
    "%",
    "%2",
    "%%",
    "%41",
    "%61",
    "%2f",
    "%2B",
    "%c3%a9",
    "%E9",
    "%33",
    "5",
    "3",
    "aA",
    "~",
    "*",
  ],
  ...[
    "take=1",
    "skip=0",
    "cursor=0a",
    "Status=Due",
    "v1",
    "v2",
    "domains",
    "Domains",
    "x.example",
    ";",
    ":",
    "\\",
    "#",
    "!",
  ],
);
const target = fc
  .tuple(
    fc.constantFrom("", "/v1", "/V1"),
    fc.constantFrom(...paths, "/", "/domains?"),
    fc.array(piece, { maxLength: 8 }),
  )
  .map(([prefix, path, pieces]) => `${prefix}${path}${pieces.join("")}`);

/** Changes of spelling, each at the places that `picks` names. */
const respellings: ((text: string, isPicked: () => boolean) => string)[] = [
  (text, isPicked) =>
    text.replaceAll(/[A-Za-z]/g, (letter) => {
      if (!isPicked()) return letter;
      return letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
    }),
  (text, isPicked) =>
    text.replaceAll(/%([0-9A-Fa-f]{2})/g, (asIs, hex: string) => {
      const byte = Number.parseInt(hex, 16);
      return byte > 0x20 && byte < 0x7f && isPicked() ? String.fromCharCode(byte) : asIs;
    }),
  (text, isPicked) =>
    text.replaceAll(/[^%]/g, (character) =>
      isPicked() ? `%${character.charCodeAt(0).toString(16).padStart(2, "0")}` : character,
    ),
  (text, isPicked) => text.replaceAll("+", (plus) => (isPicked() ? "%20" : plus)),
];

test("two targets that one signature fits mean the same use case with the same parameters", () => {
  const method = fc.constantFrom("GET", "POST", "PUT", "DELETE");
  const changes = fc.array(fc.tuple(fc.nat(respellings.length - 1), fc.array(fc.boolean(), { minLength: 1 })), {
    minLength: 1,
    maxLength: 3,
  });
  let pairs = 0;
  fc.assert(
    fc.property(method, target, changes, (verb, left, steps) => {
      const right = steps.reduce((text, [which, picks]) => {
        let place = 0;
        return respellings[which]!(text, () => picks[place++ % picks.length]!);
      }, left);
      if (left === right || !haveOneSignature(verb, left, right)) return;
      pairs += 1;
      assert.deepEqual(meaningOf(verb, left), meaningOf(verb, right), `${left} ${right}`);
    }),
    { seed, numRuns: 10_000 },
  );
  assert.ok(pairs > 1_000, `only ${pairs} pairs had one signature`);
});
