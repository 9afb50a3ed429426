/** What result codes may mean in a profile, for registries that deviate from RFC 5730 §3. */
import Type from "typebox";

/** The meanings of a result code for an order and a renewal: events of `states.ts` in src/domains/orders/ and renewals/. */
export const createMeanings = [
  "created",
  "create-pending",
  "exists",
  "rejected",
  "operator-needed",
  "out-of-credit",
  "not-executed",
  "unanswered",
];
export const renewalMeanings = [
  "answered",
  "pending",
  "disputed",
  "operator-needed",
  "out-of-credit",
  "not-executed",
  "unanswered",
];
export const codeMeanings = (meanings: readonly string[]) =>
  Type.Record(Type.String({ pattern: "^[0-9]{4}$" }), Type.Enum([...meanings]), { additionalProperties: false });
