import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { checkFtpPassword, loadCommonPasswords, readCommonPasswords } from "#lib/ftp-password.ts";

const identifier = "my-shop.example";
const commonPasswords = await loadCommonPasswords();

const good = [
  "tr7#kwPz",
  "correct horse battery staple",
  "  spaces count too  ",
  "x9".repeat(32),
  "пароль-из-слов",
  "ключ🔑🔑🔑🔑",
  "quote'\"; DROP %s",
  "my-shop but not all of it",
];
for (const password of good) {
  test(`accepts ${JSON.stringify(password).slice(0, 40)}`, () => {
    const verdict = checkFtpPassword(password, identifier, commonPasswords);
    assert.ok(verdict.ok);
    assert.equal(verdict.password.reveal(), password);
  });
}

const bad: readonly (readonly [string, RegExp])[] = [
  ["", /too short/],
  ["x", /too short/],
  ["tr7#kwP", /too short/],
  ["🔑🔑🔑🔑", /too short/],
  [`${"x9".repeat(32)}x`, /at most 64 characters/],
  ["x".repeat(10_240), /at most 64 characters/],
  ["ü".repeat(37), /72 bytes/],
  ["tr7#\r\nkwPz", /control character/],
  ["tr7#\0kwPz", /control character/],
  ["tr7#\tkwPz", /control character/],
  ["tr7#\u007fkwPz", /control character/],
  ["tr7#\u0085kwPz", /control character/],
  ["tr7#\ud83dkwPz", /surrogate/],
  ["my-shop.example", /contains the identifier/],
  ["x-MY-SHOP.Example-9", /contains the identifier/],
  ["ｍｙ－ｓｈｏｐ.example", /contains the identifier/],
  ["password", /most common/],
  ["PassWord123", /most common/],
  ["Sunshine1!", /most common/],
  ["ｐａｓｓｗｏｒｄ１２３", /most common/],
  ["Monkey2026!", /most common/],
  ["1qaz2wsx", /most common/],
  ["12345678", /most common/],
];
for (const [password, reason] of bad) {
  test(`refuses ${JSON.stringify(password).slice(0, 40)} and does not repeat it`, () => {
    const verdict = checkFtpPassword(password, identifier, commonPasswords);
    assert.ok(!verdict.ok);
    assert.match(verdict.reason, reason);
    if (password.length > 1) assert.equal(verdict.reason.includes(password), false);
  });
}

test("refuses the identifier in U-labels as well as in A-labels", () => {
  for (const password of ["xx Bücher.example", "xn--bcher-kva.example!"]) {
    const verdict = checkFtpPassword(password, "xn--bcher-kva.example", commonPasswords);
    assert.deepEqual(verdict, { ok: false, reason: "contains the identifier: choose one that does not" });
  }
});

test("an accepted password does not print", () => {
  assert.equal(
    JSON.stringify(checkFtpPassword("tr7#kwPz", identifier, commonPasswords)),
    '{"ok":true,"password":"[secret]"}',
  );
});

test("the list holds the most common passwords of leaks, folded", () => {
  assert.ok(commonPasswords.size > 40_000, `${commonPasswords.size} passwords`);
  for (const password of commonPasswords) assert.equal(password, password.normalize("NFKC").toLowerCase());
});

test("an operator's own list replaces the bundled one, line by line", async (context) => {
  const folder = await mkdtemp(path.join(tmpdir(), "deedhouse-passwords-"));
  context.after(() => rm(folder, { recursive: true }));
  const listFile = path.join(folder, "list.txt");
  await writeFile(listFile, "Rare-Enough\r\n#hashtag\nshort\n");
  const own = readCommonPasswords(listFile);
  assert.deepEqual([...own], ["rare-enough", "#hashtag", "short"]);
  assert.equal(checkFtpPassword("RARE-enough", identifier, own).ok, false);
  assert.equal(checkFtpPassword("password", identifier, own).ok, true);
});
