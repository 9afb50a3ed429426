/** PostgreSQL's texts have no NUL: wherever a request has one, it is a mistake of the client. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { routes } from "#api/routes.ts";
import { v2Routes } from "#api/v2/routes.ts";
import { startTestGateway } from "../harness/gateway.ts";

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  examples?: unknown[];
}

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();
const key = await gateway.addKey(reseller, { scopes: allScopes() });
const all = [
  ...routes.map((route) => ({ ...route, prefix: "/v1" })),
  ...v2Routes.map((route) => ({ ...route, prefix: "/v2" })),
];

function allScopes() {
  return [...new Set([...routes, ...v2Routes].flatMap(({ useCase }) => useCase.scope ?? []))];
}

/** A value of the shape, in which every text has a NUL, and how many it has. */
function withNul({ type, properties, items, anyOf, examples }: Schema): unknown {
  if (anyOf) return withNul(anyOf[0]!);
  if (properties) return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, withNul(one)]));
  if (items) return [withNul(items)];
  return type === "string" || type === undefined ? "a\0b.example" : examples?.[0];
}

for (const { method, path, prefix, useCase } of all) {
  const target = (value: string) => prefix + path.replace(/:\w+/g, value);
  const { body, query } = useCase.docs as { body?: Schema; query?: Schema };
  test(`${method} ${prefix}${path} takes a NUL for a mistake`, async () => {
    const answers: string[] = [];
    const send = async (at: string, sent?: unknown) => {
      const reply = await gateway.send(key, method, at, sent === undefined ? {} : { body: sent });
      answers.push(`${reply.status} ${at} ${JSON.stringify(sent)}`);
    };
    for (const value of ["%00", "a%00b", "a%00b.example"])
      if (path.includes(":")) await send(target(value), body && {});
    for (const name of Object.keys(query?.properties ?? {})) await send(`${target("a.example")}?${name}=a%00b`);
    await send(`${target("a.example")}?a%00b=1`, body && {});
    if (body) await send(target("a.example"), withNul(body));
    for (const [name, one] of Object.entries(body?.properties ?? {})) {
      await send(target("a.example"), { [name]: withNul(one) });
    }
    assert.deepEqual(
      answers.filter((answer) => !/^[1234]/.test(answer)),
      [],
    );
  });
}
