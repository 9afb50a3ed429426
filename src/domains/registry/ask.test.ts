import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeHolder } from "#domains/registry/ask.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { read } from "#registry/epp/commands/test-answers.ts";

const registrar = (id: string) => `<domain:clID>${id}</domain:clID>`;
const authInfo = (code: string) => `<domain:authInfo><domain:pw>${code}</domain:pw></domain:authInfo>`;

function judge(content: string, infoWithoutRegistrar: "unknown" | "ours" | "others") {
  const resData = `<domain:infData><domain:name>hello.example</domain:name>${content}</domain:infData>`;
  const info = read(domainInfo("hello.example"), { resData });
  assert.ok(info);
  return judgeHolder({ registrarId: "us", infoWithoutRegistrar }, info).is;
}

test("a name is ours by its registrar, by an authInfo that only its registrar sees, or by the profile's word", () => {
  const [ours, others, unknown] = ["held-by-us", "held-by-other", "unknown"] as const;
  const cases = [
    [registrar("us"), [ours, ours, ours]],
    [registrar("them"), [others, others, others]],
    [registrar("them") + authInfo("Secret-77"), [others, others, others]],
    ["", [unknown, ours, others]],
    [authInfo("Secret-77"), [ours, ours, unknown]],
    [authInfo(""), [unknown, ours, others]],
    [authInfo("********"), [unknown, ours, others]],
  ] as const;
  for (const [content, expected] of cases) {
    const found = (["unknown", "ours", "others"] as const).map((policy) => judge(content, policy));
    assert.deepEqual(found, expected, content);
  }
});
