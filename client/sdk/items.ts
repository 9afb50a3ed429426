import { answerOf, arrayBody, type Reply, wholeNumberHeader } from "./response.ts";
import type { OpenCsv, Send } from "./transport.ts";
import type { CallOptions, Page, PageOptions } from "./types.ts";

/** The maximum page size of the service. */
const takeMax = 100;

/** Query parameters by name; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Which list, and how it is read. */
export interface ListSource extends CallOptions {
  path: string;
  filter?: Query;
  /** Answered as a whole: it has no pages. */
  isWhole?: boolean;
}

/**
 * A list, which sends nothing before it is read. An iteration gives every item, and fetches a page when its items are needed. It
 * neither skips nor repeats an item, even when the list changes meanwhile. The signal ends it between items, too.
 */
export class Items<T> implements AsyncIterable<T> {
  protected readonly source: ListSource;
  readonly #send: Send;

  constructor(send: Send, source: ListSource) {
    this.#send = send;
    this.source = source;
  }

  /** One page; by default the first 25 items. */
  page({ skip, take }: PageOptions = {}): Promise<Page<T>> {
    return this.#read(queryOf({ ...this.source.filter, skip, take }));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const { filter, isWhole, signal } = this.source;
    let query: string | undefined = queryOf({ ...filter, take: isWhole ? undefined : takeMax });
    while (query !== undefined) {
      const page: Page<T> = await this.#read(query);
      for (const item of page.data) {
        signal?.throwIfAborted();
        yield item;
      }
      query = page.nextQuery;
    }
  }

  async #read(query: string): Promise<Page<T>> {
    const { path, signal } = this.source;
    return pageOf(await this.#send({ method: "GET", path, query, signal }));
  }
}

/** A list that the service offers as CSV, too. */
export class ExportableItems<T> extends Items<T> {
  readonly #openCsv: OpenCsv;

  constructor(send: Send, openCsv: OpenCsv, source: ListSource) {
    super(send, source);
    this.#openCsv = openCsv;
  }

  /**
   * The whole list as CSV, in parts as they arrive. A part may end anywhere, also within a line. A list that breaks off rejects with
   * `ConnectionError`, so what has arrived is the whole list only at the end of the iteration. It counts as ten requests.
   */
  csv(): AsyncGenerator<Uint8Array> {
    const { path, filter = {}, signal } = this.source;
    return this.#openCsv({ method: "GET", path, query: queryOf(filter), signal });
  }
}

/** A query string, empty without parameters. */
export function queryOf(values: Query): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  return query.size > 0 ? `?${query}` : "";
}

/** A list's answer, with its paging headers. */
export function pageOf<T>(reply: Reply): Page<T> {
  return {
    ...answerOf(reply, arrayBody<T>(reply)),
    skipped: wholeNumberHeader(reply.headers, "x-paging-skipped"),
    take: wholeNumberHeader(reply.headers, "x-paging-take"),
    total: wholeNumberHeader(reply.headers, "x-paging-totalresults"),
    nextQuery: findNextQuery(reply),
  };
}

/**
 * The query of the `rel="next"` target (RFC 8288). Only the query is used: the path is known, a proxy may have changed
 * it, and a signature must never go to another host.
 */
export function findNextQuery({ headers }: Reply): string | undefined {
  for (const [, target = "", parameters = ""] of (headers.get("link") ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(parameters);
    const relations = (rel?.[1] ?? rel?.[2] ?? "").toLowerCase().split(/\s+/);
    if (relations.includes("next") && target.includes("?")) return target.slice(target.indexOf("?"));
  }
  return undefined;
}
