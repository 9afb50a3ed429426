import { type Items, queryOf } from "./items.ts";
import { type Api, pathOf, Resource } from "./resource.ts";
import { answerOf, idFromLocation } from "./response.ts";
import type { Call } from "./transport.ts";
import type {
  Answer,
  CallOptions,
  HeldOptions,
  NewZone,
  PlacedChange,
  RecordFilter,
  RecordOptions,
  RecordSet,
  RecordSetInput,
  WriteOptions,
  Zone,
  ZoneChange,
} from "./types.ts";

/** The zones of domain names: what our name servers answer about them. */
export class Zones extends Resource {
  readonly records: Records;

  constructor(api: Api) {
    super(api);
    this.records = new Records(api);
  }

  /** Its state, and what each name server has. */
  get(domainName: string, options?: CallOptions): Promise<Answer<Zone>> {
    return this.read(pathOf("domains", domainName, "dns"), options);
  }

  /** Makes a zone for a name. Rejects with `zone_exists` where it has one. */
  create(domainName: string, { sets, delegate, ...options }: NewZone = {}): Promise<PlacedChange> {
    return this.#put(domainName, { sets, delegate }, options);
  }

  /** Orders our name servers for a name that has a zone, once they serve it. */
  delegate(domainName: string, options?: WriteOptions): Promise<PlacedChange> {
    return this.#put(domainName, { delegate: true }, options);
  }

  /** Brings back the zone that was deleted in the last 30 days. */
  restore(domainName: string, options?: WriteOptions): Promise<PlacedChange> {
    return this.#put(domainName, { restore: true }, options);
  }

  /** Deletes a zone with all records; `isForced`: also while the registry shows our name servers. */
  async delete(
    domainName: string,
    { isForced, ...options }: WriteOptions & { isForced?: boolean } = {},
  ): Promise<Answer<undefined>> {
    const query = queryOf({ confirm: domainName, force: isForced });
    const path = pathOf("domains", domainName, "dns");
    return answerOf(await this.api.send({ method: "DELETE", path, query, ...options }), undefined);
  }

  /** The changes of a zone, the newest first. */
  changes(domainName: string, { signal }: CallOptions = {}): Items<ZoneChange> {
    return this.items({ path: pathOf("domains", domainName, "dns", "changes"), signal });
  }

  /** One change; with `waitSeconds`, once the name servers have it. */
  getChange(domainName: string, changeId: string, options?: HeldOptions): Promise<Answer<ZoneChange>> {
    return this.read(pathOf("domains", domainName, "dns", "changes", changeId), options);
  }

  #put(domainName: string, body: object, options?: WriteOptions): Promise<PlacedChange> {
    return placeChange(this.api, { method: "PUT", path: pathOf("domains", domainName, "dns"), body, ...options });
  }
}

/** The records of a zone, in sets of one name and type. */
class Records extends Resource {
  list(domainName: string, { type, subname, signal }: RecordFilter & CallOptions = {}): Items<RecordSet> {
    return this.items({ path: pathOf("domains", domainName, "records"), filter: { type, subname }, signal });
  }

  get(domainName: string, subname: string, type: string, options?: CallOptions): Promise<Answer<RecordSet>> {
    return this.read(pathOf("domains", domainName, "records", subname, type), options);
  }

  /** Sets the records of one name and type. */
  set(
    domainName: string,
    { subname, type, ttl, records }: RecordSetInput,
    options?: RecordOptions,
  ): Promise<PlacedChange> {
    const body = { ttl, records };
    return this.#change("PUT", pathOf("domains", domainName, "records", subname, type), { body }, options);
  }

  /** Removes the records of one name and type. */
  remove(domainName: string, subname: string, type: string, options?: RecordOptions): Promise<PlacedChange> {
    return this.#change("DELETE", pathOf("domains", domainName, "records", subname, type), {}, options);
  }

  /** Changes several sets at once, all or nothing; those without records are removed. */
  change(domainName: string, sets: readonly RecordSetInput[], options?: RecordOptions): Promise<PlacedChange> {
    return this.#change("PATCH", pathOf("domains", domainName, "records"), { body: sets }, options);
  }

  /** Replaces all records: those that are not given are removed. */
  replace(domainName: string, sets: readonly RecordSetInput[], options?: RecordOptions): Promise<PlacedChange> {
    return this.#change("PUT", pathOf("domains", domainName, "records"), { body: sets }, options);
  }

  /** Replaces all records by those of a zone file (RFC 1035). */
  importFile(domainName: string, zoneFile: string, options?: RecordOptions): Promise<PlacedChange> {
    return this.#change("PUT", pathOf("domains", domainName, "records"), { zoneFile }, options);
  }

  /** The whole zone as a zone file. */
  async exportFile(domainName: string, { signal }: CallOptions = {}): Promise<Answer<string>> {
    const path = pathOf("domains", domainName, "records");
    const reply = await this.api.send({ method: "GET", path, wantsZoneFile: true, signal });
    return answerOf(reply, reply.text);
  }

  #change(
    method: "PUT" | "PATCH" | "DELETE",
    path: string,
    content: Pick<Call, "body" | "zoneFile">,
    { ifChangeId, ...options }: RecordOptions = {},
  ): Promise<PlacedChange> {
    const ifMatch = ifChangeId === undefined ? undefined : `"${ifChangeId}"`;
    return placeChange(this.api, { method, path, ...content, ifMatch, ...options });
  }
}

async function placeChange({ send }: Api, call: Call): Promise<PlacedChange> {
  const reply = await send(call);
  return answerOf(reply, { change_id: idFromLocation(reply) });
}
