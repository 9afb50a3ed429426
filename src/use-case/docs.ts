/**
 * What openapi.json says of a use case in addition to its errors and its scope. The shape of an answer stands next to the
 * function that builds it, whose type follows from the shape. A shape with a `title` is described once, under this name. The
 * example of a shape is made of the examples of its fields, unless the shape declares one.
 */
import Type, { type TArray, type TObject, type TSchema } from "typebox";
import { takeDefault, takeMax } from "#use-case/page-size.ts";

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
  body?: TObject | TArray;
  /** The body may be a zone file instead (`content-type: text/dns`). */
  takesZoneFile?: true;
  /** By status. */
  answers: Readonly<Record<number, AnswerDocs>>;
}

export interface AnswerDocs {
  description: string;
  /** Absent when the answer has no body. */
  body?: TSchema;
  /** In addition to those of every answer. */
  headers?: readonly AnswerHeader[];
  /** The whole list is offered as CSV, without these headers. */
  isCsvToo?: boolean;
  /** The list is also offered as server-sent events. */
  isStreamToo?: boolean;
  /** The list is also offered as a zone file, without the headers of pages. */
  isZoneFileToo?: boolean;
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
  | "x-skipped-lines"
  | "idempotency-replayed";

/** With `?` at its end, only some of these answers have the header. */
export type AnswerHeader = HeaderName | `${HeaderName}?`;

export const instant = Type.String({ format: "date-time", examples: ["2027-11-21T01:39:27.687Z"] });
export const domainName = Type.String({
  description: "The A-label form, in lower case.",
  examples: ["hello.example"],
});
/** A text, with its form. */
export const textLike = (...examples: string[]) => Type.String({ examples });

/** The query's parameters of every paged list; the list's filters are added to them. */
export const pagingQuery = {
  skip: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 999_999_999, default: 0, description: "The number of rows to skip." }),
  ),
  take: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: takeDefault,
      description: `The number of rows; more than ${takeMax} is reduced to ${takeMax}.`,
    }),
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

/** The shape of a field that the use case checks in code. */
export const shapeByHand = (schema: object): TSchema | undefined => (schema as { [byHand]?: TSchema })[byHand];
