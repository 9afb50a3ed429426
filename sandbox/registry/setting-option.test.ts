import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSetting, settingLines } from "./setting-option.ts";

test("parses a setting of every kind", () => {
  const read: [string, unknown][] = [
    ["sessionsMax=1", 1],
    ["atExpiry=expire", "expire"],
    ["feeCurrency=USD", "USD"],
    ["oldExpDateCode=2306", 2306],
    ["restoreReport=false", false],
    ['extensions=["rgp"]', ["rgp"]],
    ['graceDays={"add":0}', { add: 0 }],
  ];
  for (const [text, value] of read) assert.deepEqual(parseSetting(text), [text.split("=")[0], value]);
});

test("shows the form of a setting that it can't parse", () => {
  const refused: [string, RegExp][] = [
    ["nothing=1", /there is no setting "nothing"/],
    ["assertAnswers=false", /there is no setting "assertAnswers"/],
    ["sessionsMax", /there is no setting "sessionsMax"/],
    ["sessionsMax=-1", /sessionsMax has the form sessionsMax=20, not "-1"/],
    ["sessionsMax=1.5", /not "1.5"/],
    ["atExpiry=never", /atExpiry=auto-renew \(auto-renew, expire\), not "never"/],
    ["oldExpDateCode=2400", /\(2004, 2105, 2306\)/],
    ["restoreReport=maybe", /restoreReport=true, not "maybe"/],
    ['extensions=["keyrelay"]', /not "\["keyrelay"\]"/],
    ['graceDays={"add":-1}', /graceDays has the form/],
    ['graceDays={"add":9007199254740991}', /, at most 36525, not/],
    ["transferDays=36526", /, at most 36525, not/],
    ["lateMs=2147483648", /lateMs=35000, at most 2147483647, not/],
    ["slowMsMax=2147483648", /, at most 2147483647, not/],
    ["feeCurrency=eur", /feeCurrency=EUR, not "eur"/],
    ['graceDays={"adding":1}', /graceDays has the form/],
  ];
  for (const [text, sentence] of refused) assert.throws(() => parseSetting(text), sentence);
});

test("lists every setting with its default for the help", () => {
  assert.match(settingLines(), /^ +sessionsMax=20$/m);
  assert.match(settingLines(), /^ +dataModel=thick \(thick, thin\)$/m);
});
