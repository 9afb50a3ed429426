import type { Static, TSchema } from "typebox";
import { Value } from "typebox/value";

/** Returns the value if it has the shape. @param what the subject of the error @throws RangeError that names the first mistake */
export function checkShape<Shape extends TSchema>(shape: Shape, value: unknown, what: string): Static<Shape> {
  if (Value.Check(shape, value)) return value;
  const error = Value.Errors(shape, value)[0]!;
  const where = error.instancePath.slice(1).replaceAll("/", ".");
  const { allowedValues, requiredProperties } = error.params as Record<string, unknown[] | undefined>;
  const texts: Record<string, string> = {
    boolean: "is not known",
    enum: `must be one of ${allowedValues?.join(", ")}`,
    required: `needs ${requiredProperties?.join(", ")}`,
  };
  throw new RangeError(`${where || what} ${texts[error.keyword] ?? error.message}`);
}
