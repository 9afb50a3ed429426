import assert from "node:assert/strict";
import { test } from "node:test";
import { prefersHtml, wantsOnly } from "#use-case/accept.ts";

test("only a client that names CSV, and neither JSON nor everything, gets it", () => {
  for (const accept of [
    "text/csv",
    "Text/CSV; charset=utf-8",
    "text/csv;q=0.5, text/html",
    "text/csv, application/xml;q=0.9",
    "text/csv, application/json;q=0",
    "text/csv,*/*; q=0.0",
  ]) {
    assert.equal(wantsOnly(accept, "text/csv"), true, accept);
  }
  for (const accept of [
    undefined,
    "",
    "*/*",
    "text/*",
    "application/json",
    "text/csv;q=0",
    "text/csv;q=0.000, text/html",
    "text/csv, application/json;q=0.1",
    "application/json, text/csv",
    "text/csv, */*;q=0.1",
    "text/csv, application/*",
    "text/csv, application/problem+json",
    "text/csv-schema",
    "application/xml;q=0.9, application/json;q=0.8",
  ]) {
    assert.equal(wantsOnly(accept, "text/csv"), false, accept);
  }
});

test("a browser prefers HTML, and a client that has no preference gets JSON", () => {
  for (const accept of [
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
    "text/html",
    "Text/HTML; charset=utf-8; Q=0.5, application/json;q=0.4",
    "application/json;q=0, */*",
    "text/*;q=0.5, */*;q=0.1",
    "text/html;q=0.3, application/*;q=0.2, */*",
  ]) {
    assert.equal(prefersHtml(accept), true, accept);
  }
  for (const accept of [
    undefined,
    "",
    "*/*",
    "application/json, text/html",
    "application/json, text/html;q=0.9",
    "text/html;q=0.1, */*;q=0.2",
    "text/html;q=0, text/*, application/json;q=0.1",
    "image/png",
    "text/csv",
    "html",
  ]) {
    assert.equal(prefersHtml(accept), false, accept);
  }
});
