import type { Client } from "../../client/sdk/client.ts";

/** The methods of the library for TypeScript, as `hosting.packs.list`. */
export const methodsOf = (client: Client): string[] =>
  Object.entries(client).flatMap(([name, collection]) => methodsBelow(name, collection));

function methodsBelow(path: string, collection: object): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(collection)).filter((name) => name !== "constructor");
  // Each collection has `api`, by which it sends.
  const within = Object.entries(collection).filter(([name]) => name !== "api");
  return [
    ...own.map((name) => `${path}.${name}`),
    ...within.flatMap(([name, inner]) => methodsBelow(`${path}.${name}`, inner)),
  ];
}
