import type { Reply } from "./signed-request.ts";

/** The targets of the link header, by their relation. */
export const linksOf = ({ headers }: Pick<Reply, "headers">): Record<string, string> =>
  Object.fromEntries(
    [...(headers.link ?? "").matchAll(/<([^>]+)>; rel="([a-z]+)"/g)].map(([, target, relation]) => [relation, target]),
  );
