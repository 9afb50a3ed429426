import type { Static, TSchema } from "typebox";
import { Value } from "typebox/value";
import { DoorRefusal } from "#hosting/channel/authenticate.ts";

/** @throws DoorRefusal when it is not JSON of this form */
export function parseBody<Schema extends TSchema>(schema: Schema, body: Buffer): Static<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw new DoorRefusal(400, "not_understood");
  }
  if (!Value.Check(schema, value)) throw new DoorRefusal(400, "not_understood");
  return value;
}
