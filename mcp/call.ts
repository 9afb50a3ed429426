/** The request that a tool's arguments make. */
import type { Call } from "../client/sdk/transport.ts";
import type { Arguments } from "./confirmations.ts";
import type { Operation, Place } from "./document.ts";

/** @param given checked against the operation's schema */
export function callOf(operation: Operation, given: Arguments): Call {
  const at = (place: Place) => Object.entries(given).filter(([name]) => operation.places.get(name) === place);
  const query = new URLSearchParams();
  for (const [name, value] of at("query")) query.set(name, String(value));
  const hasBody = [...operation.places.values()].includes("body");
  return {
    method: operation.method,
    path: operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name]))),
    query: query.size > 0 ? `?${query}` : "",
    ...(hasBody && { body: Object.fromEntries(at("body")) }),
    waitSeconds: given.wait_seconds as number | undefined,
  };
}

/** The request for the person who confirms it, without secrets. */
export function showCall({ secrets }: Operation, { method, path, query, body }: Call): object {
  const shown = Object.entries(body ?? {}).map(([name, value]) => [name, secrets.has(name) ? "(as given)" : value]);
  return { method, path: `${path}${query ?? ""}`, ...(body && { body: Object.fromEntries(shown) }) };
}
