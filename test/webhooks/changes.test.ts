import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { postWebhook, shownWebhook } from "./stage.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();

test("two changes at the same time both stay", async () => {
  const webhook = await postWebhook(gateway, reseller, "http://127.0.0.1:9/");
  const put = (body: object) => gateway.send(reseller, "PUT", webhook.path, { body });
  const lost: string[] = [];
  for (let round = 0; round < 20; round++) {
    const [description, types] = [`round ${round}`, [round % 2 === 0 ? "domain.*" : "order.*"]];
    await Promise.all([put({ description }), put({ types }), put({ url: `http://127.0.0.1:9/${round}` })]);
    const shown = await shownWebhook(gateway, reseller, webhook);
    const wanted = { description, types, url: `http://127.0.0.1:9/${round}` };
    for (const [field, value] of Object.entries(wanted)) {
      if (String(shown[field as keyof typeof wanted]) !== String(value)) lost.push(`${field} of round ${round}`);
    }
  }
  assert.deepEqual(lost, []);
});

test("a URL is shown as it is called", async () => {
  const webhook = await postWebhook(gateway, reseller, " HTTP://127.1:80/a b?c=d e ");
  assert.equal((await shownWebhook(gateway, reseller, webhook)).url, "http://127.0.0.1/a%20b?c=d%20e");
});
