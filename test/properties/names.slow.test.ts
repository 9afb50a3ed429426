/**
 * Names against two implementations of IDNA2008 that nobody here wrote: python3-idna and libidn2 (Debian's idn2). What
 * they and we disagree about is listed here with its reason; anything else is somebody's mistake, and accepting a name
 * that both refuse is ours.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { seed } from "./seed.ts";

const sampleCount = 12_000;
const outputBytesMax = 256 * 1024 * 1024;

/** The first Python that has the package: Debian's is not always the first one in the path. */
const python = ["python3", "/usr/bin/python3"].find(
  (program) => spawnSync(program, ["-c", "import idna"]).status === 0,
);
const hasIdn2 = spawnSync("idn2", ["--version"]).error === undefined;
const skip = python === undefined ? "python3-idna is not installed" : !hasIdn2 && "idn2 is not installed";

type Verdict = { name: string } | { error: string };

interface Judged {
  text: string;
  ours: Verdict;
  idna: Verdict;
  libidn2: Verdict;
  /** It has a character that is newer than the tables of the Python that asked. */
  isNew: boolean;
}

const accepts = (verdict: Verdict): verdict is { name: string } => "name" in verdict;
const agree = (one: Verdict, other: Verdict): boolean =>
  accepts(one) && accepts(other) ? one.name === other.name : accepts(one) === accepts(other);

/** What libidn2 says of characters that its tables lack or once forbade, as opposed to the rules about their order. */
const aboutCharacters = new Set(["IDN2_UNASSIGNED", "IDN2_DISALLOWED", "IDN2_INVALID_NONTRANSITIONAL"]);

/** What UTS #46 treats as a dot. */
const dots = /[.\u3002\uFF0E\uFF61]/u;

interface Reason {
  why: string;
  explains(judged: Judged): boolean;
}

const reasons: readonly Reason[] = [
  {
    why: "UTS #46 drops what is invisible; we refuse it, so that what looks like one name is not typed as another",
    explains: ({ text, ours, idna }) =>
      !accepts(ours) && accepts(idna) && /(?![\u200C\u200D])\p{Default_Ignorable_Code_Point}/u.test(text),
  },
  {
    why: "one label from right to left puts all of a name under the Bidi rule (RFC 5893 section 2); they judge each alone",
    explains: ({ text, ours, idna }) =>
      !accepts(ours) && accepts(idna) && text.split(dots).every((label) => accepts(readName(`${label}.a`))),
  },
  {
    why: "libidn2 checks neither plain ASCII nor empty labels, and some of the contextual rules at registration only",
    explains: ({ ours, idna, libidn2 }) => !accepts(ours) && !accepts(idna) && accepts(libidn2),
  },
  {
    why: "the character is newer than the Unicode of the Python that was asked",
    explains: ({ ours, idna, isNew }) => accepts(ours) && !accepts(idna) && isNew,
  },
  {
    why: "libidn2's tables are older than this character, or than its mapping to lower case",
    explains: ({ ours, idna, libidn2 }) =>
      accepts(ours) && agree(ours, idna) && !accepts(libidn2) && aboutCharacters.has(libidn2.error),
  },
  {
    why: "the capital sharp s is mapped to ß in newer tables of UTS #46, to ss in older ones",
    explains: ({ text, ours, idna, libidn2 }) =>
      text.includes("\u1E9E") && [idna, libidn2].every((verdict) => agree(ours, verdict) || accepts(verdict)),
  },
];

function readName(text: string): Verdict {
  try {
    return { name: parseDomainName(text) };
  } catch (error) {
    assert.ok(error instanceof InvalidDomainName, `${text}: ${error}`);
    return { error: error.message };
  }
}

function judge(context: TestContext, names: readonly string[]): Judged[] {
  const { status, stdout, stderr } = spawnSync(python ?? "", [join(import.meta.dirname, "name-oracles.py")], {
    input: JSON.stringify(names),
    encoding: "utf8",
    maxBuffer: outputBytesMax,
  });
  assert.equal(status, 0, stderr);
  const output = JSON.parse(stdout) as { versions: string; verdicts: Omit<Judged, "text" | "ours">[] };
  assert.equal(output.verdicts.length, names.length);
  context.diagnostic(output.versions);
  return names.map((text, index) => ({ text, ours: readName(text), ...output.verdicts[index]! }));
}

function show({ text, ours, idna, libidn2 }: Judged): string {
  const points = [...text.replace(/\.a$/, "")].map((character) => character.codePointAt(0)?.toString(16));
  const told = [ours, idna, libidn2].map((verdict) => (accepts(verdict) ? verdict.name : verdict.error));
  return `U+${points.join(" U+")}: we say ${told[0]}; idna: ${told[1]}; libidn2: ${told[2]}`;
}

function assertExplained(context: TestContext, names: readonly string[]): Judged[] {
  const judged = judge(context, names);
  const counts = new Map<string, number>();
  const unexplained = judged.filter((one) => {
    if (agree(one.ours, one.idna) && agree(one.ours, one.libidn2)) return false;
    const reason = reasons.find(({ explains }) => explains(one));
    if (reason) counts.set(reason.why, (counts.get(reason.why) ?? 0) + 1);
    return reason === undefined;
  });
  for (const [why, count] of counts) context.diagnostic(`${count} of ${names.length}: ${why}`);
  assert.deepEqual(unexplained.slice(0, 20).map(show), [], `${unexplained.length} names, seed ${seed}`);
  return judged;
}

const scripts =
  "Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Tamil Thai Lao Tibetan Georgian Hangul " +
  "Ethiopic Cherokee Khmer Mongolian Hiragana Katakana Bopomofo Han Yi Gothic Nko Adlam Osage Common Inherited";
const charactersPerScript = 2_000;

function charactersOf(script: string): string[] {
  const pattern = new RegExp(`\\p{Script=${script}}`, "u");
  const found: string[] = [];
  for (let point = 0x80; point < 0x3_0000 && found.length < charactersPerScript; point += 1) {
    const character = String.fromCodePoint(point);
    if (pattern.test(character)) found.push(character);
  }
  return found;
}

/** Characters that one rule or another is about: joiners, context, bidi, mapping, normal form, what looks like dots. */
const delicate =
  "aßςΣſıİK\u200c\u200d\u0300\u0308\u0345·l\u0375α\u05f3א\u05b0・日カあ٠۰ابل١नि्कष\u0640😀☃\ufe0f👨©™①ａＡ．。｡\u00ad\u2060\u0378" +
  "\u{e0100}\u1806\u180b\u3164\u115f\u1160ᄀ가각\u0e33\u0f77ﬁ½Ⅷ\u1e9e\u10a0߿\ud800";

function labels(): fc.Arbitrary<string> {
  const byScript = scripts.split(" ").map(charactersOf);
  const anyScript = fc.constantFrom(...byScript).chain((all) => fc.constantFrom(...all));
  const oneScript = fc.constantFrom(...byScript).chain((all) => {
    const unit = fc.oneof(
      { arbitrary: fc.constantFrom(...all), weight: 6 },
      { arbitrary: fc.constantFrom(..."ab1-"), weight: 1 },
    );
    return fc.string({ unit, minLength: 1, maxLength: 6 });
  });
  const ofThese = (characters: string, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength });
  return fc.oneof(
    { arbitrary: oneScript, weight: 4 },
    { arbitrary: ofThese(delicate, 5), weight: 4 },
    { arbitrary: fc.string({ unit: anyScript, minLength: 1, maxLength: 4 }), weight: 1 },
    { arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 3 }), weight: 1 },
    { arbitrary: ofThese("abzABZ019--__. !~/:@%", 8), weight: 1 },
    { arbitrary: ofThese("ab9-", 70), weight: 1 },
    { arbitrary: ofThese("abcdefghijklmnopqrstuvwxyz0123456789-", 9).map((encoded) => `xn--${encoded}`), weight: 2 },
  );
}

test("names of all scripts are read as python3-idna and libidn2 read them", { skip }, (context) => {
  const texts = new Set(fc.sample(labels(), { seed, numRuns: sampleCount }).map((label) => `${label}.a`));
  const judged = assertExplained(context, [...texts]);
  const acceptedByAll = judged.filter(({ ours, idna, libidn2 }) => [ours, idna, libidn2].every(accepts)).length;
  const refusedByAll = judged.filter(({ ours, idna, libidn2 }) => ![ours, idna, libidn2].some(accepts)).length;
  context.diagnostic(`${acceptedByAll} accepted by all, ${refusedByAll} refused by all`);
  assert.ok(acceptedByAll > sampleCount / 10 && refusedByAll > sampleCount / 10);
});

/** Of these scripts, whose characters are thousands alike, and of what is not assigned, every 64th is enough. */
const alike =
  /[\p{Cn}\p{Co}\p{Cs}\p{Script=Han}\p{Script=Hangul}\p{Script=Tangut}\p{Script=Nushu}\p{Script=Yi}\p{Script=Cuneiform}\p{Script=Egyptian_Hieroglyphs}]/u;

test("every character is allowed or refused as python3-idna and libidn2 do", { skip }, (context) => {
  const names: string[] = [];
  for (let point = 0; point <= 0x10_ffff; point += 1) {
    const character = String.fromCodePoint(point);
    if (point % 64 !== 0 && alike.test(character)) continue;
    names.push(`${/\p{M}/u.test(character) ? "ab" : ""}${character}.a`);
  }
  assertExplained(context, names);
});
