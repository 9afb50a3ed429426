/**
 * What openapi.json says of a use case beside its errors and its scope. The shape of an answer stands beside the function that
 * builds it, whose type follows from the shape. A shape with a `title` is described once, under this name. The example of a
 * shape is made of the examples of its fields, unless it has one of its own.
 */
import Type, { type TObject, type TSchema } from "typebox";

export interface Docs {
  /** The operationId; behind /v2 it ends in V2. */
  operation: string;
  /** One line. */
  summary: string;
  description?: string;
  /** It costs money, and counts as one of the paid orders that an account may place in a day. */
  isPaidOrder?: true;
  /** The query's parameters. */
  query?: TObject;
  /** The body that the request needs. */
  body?: TObject;
  /** By status. */
  answers: Readonly<Record<number, AnswerDocs>>;
}

export interface AnswerDocs {
  description: string;
  /** Absent when the answer has no body. */
  body?: TSchema;
  /** Beside those of every answer. */
  headers?: readonly AnswerHeader[];
  /** The whole list is offered as CSV, without these headers. */
  isCsvToo?: boolean;
  /** The list is offered as server-sent events, too. */
  isStreamToo?: boolean;
}

/** `look-again` is the door's header for the seconds after which to look again. */
export type HeaderName =
  | "location"
  | "look-again"
  | "check-after"
  | "retry-after"
  | "preference-applied"
  | "x-paging-skipped"
  | "x-paging-take"
  | "x-paging-totalresults"
  | "link"
  | "allow"
  | "etag"
  | "idempotency-replayed";

/** With `?` at its end, only some of these answers have the header. */
export type AnswerHeader = HeaderName | `${HeaderName}?`;

export const instant = Type.String({ format: "date-time", examples: ["2027-11-21T01:39:27.687Z"] });
export const domainName = Type.String({
  description: "The A-label form, in lower case.",
  examples: ["hello.example"],
});
/** A text, with what it looks like. */
export const textLike = (...examples: string[]) => Type.String({ examples });

/** The query's parameters of every paged list; its own filters come beside them. */
export const pagingQuery = {
  skip: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 999_999_999, default: 0, description: "The number of rows to skip." }),
  ),
  take: Type.Optional(
    Type.Integer({ minimum: 1, default: 25, description: "The number of rows; more than 100 is reduced to 100." }),
  ),
  cursor: Type.Optional(Type.String({ description: "Only as a `link` has it, and without `skip`." })),
};

/** 200, a page of a list. */
export const pageOf = (row: TSchema, { isCsvToo = false } = {}): AnswerDocs => ({
  description: isCsvToo ? "A page of the list; with `Accept: text/csv`, the whole list." : "A page of the list.",
  isCsvToo,
  body: Type.Array(row),
  headers: ["x-paging-skipped", "x-paging-take", "x-paging-totalresults", "link"],
});

const byHand = "x-by-hand";

/**
 * A field of a body that its use case checks itself, because its errors say more. openapi.json shows the shape.
 */
export const checkedByHand = (shape: TSchema) => Type.Unknown({ [byHand]: shape });

/** The shape of a field that is checked by hand. */
export const shapeByHand = (schema: object): TSchema | undefined => (schema as { [byHand]?: TSchema })[byHand];
