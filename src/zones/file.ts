/** Zones as zone files: PUT …/records with `content-type: text/dns`, and GET with `Accept: text/dns`. */
import type { Context } from "#context.ts";
import { soaRecord } from "#dns/served-zone.ts";
import { parseZoneFile, printZoneFile } from "#dns/zone-file.ts";
import { invalidField } from "#errors.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";
import { changeRecords } from "#zones/change.ts";
import { toRecordSet } from "#zones/edit.ts";
import { atField } from "#zones/problems.ts";
import { etagOf, type StoredSet, type ZoneRow } from "#zones/rows.ts";

export const isZoneFile = ({ contentType }: UseCaseRequest) => contentType === "text/dns";

/** Lines of a file that are named in a header: more of them say nothing new. */
const skippedLinesMax = 50;

export async function importZone(context: Context, request: UseCaseRequest): Promise<Answer> {
  const text = decode(request.rawBody);
  const zone = parsePathName(request.params.domain_name ?? "");
  const { sets, skipped } = atField("", () => parseZoneFile(zone, text));
  const lines = skipped.slice(0, skippedLinesMax).map(({ line }) => line);
  const headers = lines.length > 0 ? { "x-skipped-lines": lines.join(", ") } : undefined;
  return changeRecords(context, request, () => sets, headers);
}

/** @throws ApiError `bad_request` */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidField("body", "The zone file is not UTF-8.");
  }
}

/** @param sets what name servers show */
export function exportZone(zone: ZoneRow, sets: readonly StoredSet[]): Answer {
  const { domain_name: name, name_servers: nameServers, hostmaster, serial } = zone;
  const soa = soaRecord(nameServers, hostmaster, serial);
  const text = printZoneFile(name, sets.map(toRecordSet), { soa, nameServers });
  return {
    status: 200,
    headers: {
      "content-type": "text/dns; charset=utf-8",
      "content-disposition": `attachment; filename="${name}.zone"`,
      etag: etagOf(zone),
    },
    body: Buffer.from(text),
  };
}
