import assert from "node:assert/strict";
import { test } from "node:test";
import { redactXml } from "./redact.ts";
import { loginFrame } from "./test/frames.ts";
import { startWithClient } from "./test/setup.ts";

const uri = "urn:ietf:params:xml:ns:epp-1.0";

test("redacts every password, however the frame is written", () => {
  const written = [
    "<pw>hidden</pw>",
    "<pw\n>hidden</pw\t>",
    "<pw><!-- </pw> -->hidden</pw>",
    "<pw><![CDATA[</pw>]]>hidden</pw>",
    "<pw><?x </pw>?>hidden</pw>",
    "<pw a='>'>hid<!-- -->den</pw>",
    "<pw><pw>hidden</pw>hidden</pw>",
    `<é:pw xmlns:é="${uri}">hidden</é:pw>`,
    "<newPW>hidden</newPW>",
    "<authInfo><ext><a>hidden</a></ext></authInfo>",
  ];
  for (const secret of written) {
    const redacted = redactXml(`<epp xmlns="${uri}"><clID>\u{1f511}\r\n</clID>${secret}<lang>en</lang></epp>\r\n`);
    assert.match(redacted, /<clID>\u{1f511}\r\n<\/clID>.*>\[redacted\]<\/.*<lang>en<\/lang><\/epp>\r\n$/su, secret);
    assert.ok(!redacted.includes("hid"), redacted);
  }
  const empty = `<epp xmlns="${uri}"><pw/><lang>en</lang><newPW/></epp>`;
  assert.equal(redactXml(empty), empty);
});

test("redacts a password that a client hides behind a false end tag", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(loginFrame("gate-one", "<!-- </pw> -->hidden-1"));
  const [entry] = registry.store.journal.entries({ command: "login", direction: "in", code: 2002 });
  assert.match(entry?.xml ?? "", /<pw>\[redacted\]<\/pw>/);
  assert.ok(!entry?.xml?.includes("hidden-1"));
});

test("redacts a frame with many empty passwords in linear time", async (context) => {
  const { client } = await startWithClient(context);
  // A search for the end of each took longer than a test may: time grew with the square of their number.
  assert.equal((await client.ask(`<epp xmlns="${uri}">${"<pw/>".repeat(300_000)}</epp>`)).code, 2001);
});

test("journals a frame that is too long without its text", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(`<epp xmlns="${uri}"><command><fly>${"x".repeat(2 ** 16)}</fly></command></epp>`);
  const [entry] = registry.store.journal.entries({ direction: "in", code: 2000 });
  assert.deepEqual([entry?.command, entry?.xml], ["unknown:fly", undefined]);
});
