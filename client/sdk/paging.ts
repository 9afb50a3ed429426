import { answerOf, arrayBody, type Reply, wholeNumberHeader } from "./response.ts";
import type { Page, PageOptions } from "./types.ts";

/** The maximum page size of the service. */
const takeMax = 100;

/** Selects a part of a list: query parameters by name. */
export type ListFilter = Readonly<Record<string, string | boolean | undefined>>;

/** The query string for one page, empty without options. */
export function pageQuery({ skip, take }: PageOptions, filter: ListFilter = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, String(value));
  if (skip !== undefined) query.set("skip", String(skip));
  if (take !== undefined) query.set("take", String(take));
  return query.size > 0 ? `?${query}` : "";
}

/** A list with its paging headers. */
export function pageOf<T>(reply: Reply): Page<T> {
  return {
    ...answerOf(reply, arrayBody<T>(reply)),
    skipped: wholeNumberHeader(reply.headers, "x-paging-skipped"),
    take: wholeNumberHeader(reply.headers, "x-paging-take"),
    total: wholeNumberHeader(reply.headers, "x-paging-totalresults"),
    nextQuery: findNextQuery(reply.headers.get("link")),
  };
}

/** Every item of a list, fetched page by page as items are consumed. The signal ends it between items, too. */
export async function* followPages<T>(
  getPage: (query: string, signal: AbortSignal | undefined) => Promise<Page<T>>,
  signal: AbortSignal | undefined,
  filter: ListFilter = {},
): AsyncGenerator<T> {
  let query: string | undefined = pageQuery({ take: takeMax }, filter);
  while (query !== undefined) {
    const page: Page<T> = await getPage(query, signal);
    for (const item of page.data) {
      signal?.throwIfAborted();
      yield item;
    }
    query = page.nextQuery;
  }
}

/**
 * The query of the `rel="next"` target (RFC 8288). Only the query is used: the path is known, a proxy may have changed
 * it, and a signature must never go to another host.
 */
export function findNextQuery(link: string | null): string | undefined {
  for (const [, target = "", parameters = ""] of (link ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(parameters);
    const relations = (rel?.[1] ?? rel?.[2] ?? "").toLowerCase().split(/\s+/);
    if (relations.includes("next") && target.includes("?")) return target.slice(target.indexOf("?"));
  }
  return undefined;
}
