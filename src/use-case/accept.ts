const refused = /;\s*q=0(?:\.0*)?\s*(?:;|$)/;
const jsonTypes = /^(?:\*\/\*|application\/\*|(?:application|text)\/json|[^/]+\/[^/]+\+json)$/;

/** Whether a client takes this content type and no JSON. Existing clients send all kinds of lists and expect JSON. */
export function wantsOnly(accept: string | undefined, contentType: "text/csv" | "text/event-stream"): boolean {
  const list = accept?.toLowerCase() ?? "";
  if (!list.includes(contentType)) return false;
  const types = list.split(",").flatMap((range) => (refused.test(range) ? [] : [range.replace(/;.*/s, "").trim()]));
  return types.includes(contentType) && !types.some((type) => jsonTypes.test(type));
}
