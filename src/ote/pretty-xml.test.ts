import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { prettyXml } from "#ote/pretty-xml.ts";

describe("a frame for people", () => {
  test("has a line for each element, and its texts unchanged", () => {
    const xml =
      '<?xml version="1.0"?><epp a="x>y"><hello/><pw b="">  a &lt; b </pw><x><y>1</y><y></y></x><z><all/></z></epp>';
    const lines = [
      '<?xml version="1.0"?>',
      '<epp a="x>y">',
      "  <hello/>",
      '  <pw b="">  a &lt; b </pw>',
      "  <x>",
      "    <y>1</y>",
      "    <y></y>",
      "  </x>",
      "  <z>",
      "    <all/>",
      "  </z>",
      "</epp>",
    ];
    assert.equal(prettyXml(xml), lines.join("\n"));
  });

  test("stays unchanged when it is already formatted, or its white space may be text", () => {
    for (const xml of ["<a>\n <b/>\n</a>", "<a><![CDATA[<b>]]></a>", "<a><!-- c --><b/></a>"]) {
      assert.equal(prettyXml(xml), xml);
    }
  });

  test("sends no control characters to a terminal", () => {
    assert.equal(prettyXml("<a>\u009b31m</a>"), "<a>�31m</a>");
  });
});
