import type { ListedType } from "#use-case/use-case.ts";

const refused = /;\s*q=0(?:\.0*)?\s*(?:;|$)/;
const jsonTypes = /^(?:\*\/\*|application\/\*|(?:application|text)\/json|[^/]+\/[^/]+\+json)$/;

/** Whether a client takes this content type and no JSON. Existing clients send all kinds of lists and expect JSON. */
export function wantsOnly(accept: string | undefined, contentType: ListedType): boolean {
  const list = accept?.toLowerCase() ?? "";
  if (!list.includes(contentType)) return false;
  const types = list.split(",").flatMap((range) => (refused.test(range) ? [] : [range.replace(/;.*/s, "").trim()]));
  return types.includes(contentType) && !types.some((type) => jsonTypes.test(type));
}

/** The weight of a type, by the most specific range that matches it (RFC 9110 §12.5.1); 0 when none does. */
function weightOf(accept: string, type: string): number {
  const ranges = accept.toLowerCase().split(",");
  const weights = new Map(
    ranges.map((range) => {
      const [name = "", ...parameters] = range.split(";").map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [name, Number(weight?.slice("q=".length) ?? 1)];
    }),
  );
  const [family] = type.split("/");
  return weights.get(type) ?? weights.get(`${family}/*`) ?? weights.get("*/*") ?? 0;
}

/** Whether a client would rather have HTML than JSON, as browsers do. Without a preference it gets JSON. */
export const prefersHtml = (accept = ""): boolean =>
  weightOf(accept, "text/html") > weightOf(accept, "application/json");
