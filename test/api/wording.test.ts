import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { TObject, TSchema } from "typebox";
import { routes } from "#api/routes.ts";
import { v2Routes } from "#api/v2/routes.ts";
import { ApiError } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";
import { startTestGateway } from "../harness/gateway.ts";

/** How validators speak: "must be >= 1", "must match pattern", "one of the allowed values". */
const validatorsWords =
  /[<>]=|must (be|have|match|not|NOT)\b|allowed values|schema|pattern|additionalProperties|typebox/;

/** A value that a field of this shape does not take. */
const wrongFor = (shape: TSchema) => ((shape as { type?: string }).type === "array" ? 7 : ["nonsense", 1e300]);
/** The choices that the words must name. */
const choicesOf = (shape: TSchema) => (shape as { enum?: readonly unknown[] }).enum?.map(String) ?? [];

/** What `parseBody` says about a body. */
function textsOf(shape: TObject, body: object): string[] {
  try {
    parseBody(shape, Buffer.from(JSON.stringify(body)));
    return [];
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    const { error_text, validation_errors = [] } = error.body() as {
      error_text: string;
      validation_errors?: { error_text: string }[];
    };
    return [error_text, ...validation_errors.map((one) => one.error_text)];
  }
}

for (const { method, path, useCase } of [...routes, ...v2Routes]) {
  const { body, query } = useCase.docs;
  // What is wrong in a list is said by its use case.
  if (body && "properties" in body) {
    test(`${method} ${path} says in plain words what its fields take`, () => {
      assert.deepEqual(
        textsOf(body, {}).filter((text) => validatorsWords.test(text)),
        [],
      );
      for (const [field, shape] of Object.entries(body.properties) as [string, TSchema][]) {
        const texts = textsOf(body, { [field]: wrongFor(shape) });
        assert.deepEqual(
          texts.filter((text) => validatorsWords.test(text)),
          [],
        );
        for (const choice of choicesOf(shape)) assert.ok(texts.join(" ").includes(choice), `${field}: ${choice}`);
      }
    });
  }
  if (query) {
    test(`${method} ${path} says in plain words what its parameters take`, async () => {
      const { gateway, reseller } = await stage;
      const target = path.replace(/:domain_name/, "own.example").replace(/:\w+/g, "nothing");
      for (const [name, shape] of Object.entries(query.properties) as [string, TSchema][]) {
        for (const value of ["", "-1", "~nonsense~"]) {
          const { status, text } = await gateway.send(
            reseller,
            method,
            `${target}?${name}=${encodeURIComponent(value)}`,
          );
          assert.ok(status < 500, text);
          assert.doesNotMatch(text, validatorsWords);
          if (status !== 400 || !text.includes(`"field":"${name}"`)) continue;
          for (const choice of choicesOf(shape)) assert.ok(text.includes(choice), `${text} does not name ${choice}`);
        }
      }
    });
  }
}

const stage = (async () => {
  const gateway = await startTestGateway({ after }, { worker: false });
  return { gateway, reseller: await gateway.addReseller() };
})();
