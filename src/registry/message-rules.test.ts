import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compileRules,
  findRulesFault,
  type MessageRule,
  outcomeField,
  patternTextCharsMax,
} from "#registry/message-rules.ts";

const ruleOf = (outcome: MessageRule["then"], rule: Omit<MessageRule, "then">): MessageRule => ({
  ...rule,
  [outcomeField]: outcome,
});
const said = (text: string, dataNames: string[] = []) => ({ text, dataNames });

test("a rule is a part of the text in any case, a pattern for the whole text, or the name of the data", () => {
  const rules = [
    ruleOf("tell", { match: "maintenance" }),
    ruleOf("keep", { match: "^Domain [a-z0-9.-]+ expired\\.?$" }),
    ruleOf("alarm", { data: "delData" }),
  ];
  assert.equal(findRulesFault(rules), undefined);
  const find = compileRules(rules);
  assert.equal(find(said("Planned MAINTENANCE on Sunday"))?.then, "tell");
  assert.equal(find(said("domain hello.example expired."))?.then, "keep");
  assert.equal(find(said("the domain hello.example expired."))?.then, undefined);
  assert.equal(find(said("", ["delData (http://registry.example/domain-1.4)"]))?.then, "alarm");
  assert.equal(find(said("", ["delDatas (urn:x)"])), undefined);
  assert.equal(find(said("maintenance", ["delData (urn:x)"]))?.then, "tell", "the first rule that fits");
});

test("a rule that could take long, or means nothing, is refused in words", () => {
  const faults: [object, RegExp][] = [
    [{}, /needs either match or data/],
    [{ match: "a", data: "b" }, /needs either match or data/],
    [{ match: "a", names: ["b"] }, /has names, so it needs data/],
    [{ match: "^a" }, /must end with \$/],
    [{ match: "^a\\$" }, /must end with \$/],
    [{ match: "^(a+)+$" }, /from its character 2 on/],
    [{ match: "^a|b$" }, /from its character 3 on/],
    [{ match: "^a**$" }, /from its character 4 on/],
    [{ match: "^(?=a)$" }, /no groups/],
    [{ match: "^a\\1$" }, /from its character 3 on/],
    [{ match: "^.*a.*b.*$" }, /more than 2/],
    [{ match: "^a?b?c{1,3}$" }, /more than 2/],
    [{ match: "^[z-a]$" }, /is not a pattern/],
  ];
  for (const [rule, sentence] of faults) assert.match(findRulesFault([ruleOf("keep", rule)]) ?? "", sentence);
});

test("the worst pattern ends soon on the worst text, and matches no longer one", () => {
  const rule = ruleOf("keep", { match: "^.*.*x$" });
  assert.equal(findRulesFault([rule]), undefined);
  const find = compileRules([rule]);
  assert.equal(find(said("a".repeat(patternTextCharsMax))), undefined);
  assert.equal(find(said(`${"a".repeat(patternTextCharsMax - 1)}x`))?.then, "keep");
  assert.equal(find(said(`${"a".repeat(patternTextCharsMax)}x`)), undefined);
});
