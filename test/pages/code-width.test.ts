/** Code in the documentation fits beside the outline of a page, and on half of a screen. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { repository } from "../harness/running-system.ts";
import { pagesWithCommands } from "./shell-blocks.ts";

const columnsMax = 75;
/** The site shows a tab this wide (`tab-size` of VitePress). */
const tab = " ".repeat(4);
/** The libraries' own pages, which the package registries show. */
const libraryPages = ["client/README.md", "client/php/README.md", "client/python/README.md"];
/** Lines of which a part has no place for a break. */
const unbreakable: readonly { line: RegExp; because: string }[] = [
  { line: /"next": "/, because: "a text of JSON is one line" },
  { line: /DEEDHOUSE_API_KEY=\S+ DEEDHOUSE_API_SECRET=/, because: "npm start prints it like this, to be copied" },
  { line: /hmac [0-9a-f]{32}:/, because: "a signature is one value" },
  { line: /^string to sign {2}\S+$/, because: "a string to sign has no line breaks" },
  { line: /^Signature-Input: /, because: "a header's value is one line" },
  { line: /^"@signature-params": /, because: "a component to sign is one line" },
  { line: /^\{"id": "evt_test_/, because: "the signature is of this body, byte by byte" },
  { line: /^ *"(check|create|element)": "</, because: "a text of JSON is one line" },
  { line: /"(sha512|text)": "/, because: "a text of JSON is one line" },
  { line: /ftp:\/\/127\.0\.0\.1:7421\/www/, because: "the prompt's line is shown as it is typed" },
  { line: /--scope hosting:read --scope servicepacks:read/, because: "a test runs it line by line" },
  { line: /--key 0a1b2c3d4e5f60718293a4b5c6d7e8f9/, because: "a test runs it line by line" },
  { line: /"args": \["\/srv\/deedhouse/, because: "it is edited as one list" },
  { line: /ssl_certificate_key /, because: "a path is one word" },
];

test(`a line of code in the documentation has at most ${columnsMax} characters`, () => {
  const used = new Set<RegExp>();
  const long: string[] = [];
  for (const page of [...pagesWithCommands(), ...libraryPages.map((name) => join(repository, name))]) {
    let language: string | undefined;
    for (const [index, line] of readFileSync(page, "utf8").split("\n").entries()) {
      const [, fence] = /^ *`{3}(.*)$/.exec(line) ?? [];
      if (fence !== undefined) language = language === undefined ? fence : undefined;
      if (language === undefined || line.replaceAll("\t", tab).length <= columnsMax) continue;
      const exception = unbreakable.find((one) => one.line.test(line));
      if (exception) used.add(exception.line);
      else long.push(`${relative(repository, page)}:${index + 1}: ${line}`);
    }
  }
  assert.deepEqual(long, [], "break it as its language does, or give a part of it a name");
  const unused = unbreakable.filter(({ line }) => !used.has(line)).map(({ line }) => line.source);
  assert.deepEqual(unused, [], "no line is an exception like this: remove it");
});
