import type { Clock } from "./clock.ts";
import { ExportableItems, Items, type ListSource } from "./items.ts";
import { answerOf, idFromLocation, objectBody } from "./response.ts";
import type { Call, OpenCsv, Send } from "./transport.ts";
import type { Answer, HeldOptions, PlacedOrder, WriteOptions } from "./types.ts";

/** How calls are sent. */
export interface Api {
  send: Send;
  openCsv: OpenCsv;
  clock: Clock;
}

/** The calls about one collection of the API. */
export abstract class Resource {
  protected readonly api: Api;

  constructor(api: Api) {
    this.api = api;
  }

  protected read<T extends object>(path: string, options: HeldOptions = {}): Promise<Answer<T>> {
    return this.object<T>({ method: "GET", path, ...options });
  }

  protected async object<T extends object>(call: Call): Promise<Answer<T>> {
    const reply = await this.api.send(call);
    return answerOf(reply, objectBody<T>(reply));
  }

  protected items<T>(source: ListSource): Items<T> {
    return new Items(this.api.send, source);
  }

  protected exportable<T>(source: ListSource): ExportableItems<T> {
    return new ExportableItems(this.api.send, this.api.openCsv, source);
  }

  /** A write that is answered without a body. */
  protected async write(
    method: "PUT" | "POST" | "DELETE",
    path: string,
    options: WriteOptions = {},
    body?: object,
  ): Promise<Answer<undefined>> {
    return answerOf(await this.api.send({ method, path, body, ...options }), undefined);
  }

  protected async order(call: Call, options: WriteOptions = {}): Promise<PlacedOrder> {
    const reply = await this.api.send({ ...call, ...options });
    return answerOf(reply, { order_code: idFromLocation(reply) });
  }
}

/** A path with encoded segments. */
export const pathOf = (...segments: string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
