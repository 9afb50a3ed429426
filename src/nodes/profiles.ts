/** Hosting nodes as data: a JSON array of the objects that `nodeFile` describes. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { Secret } from "#lib/secret.ts";

const endpoint = Type.Object({
  host: Type.String({ minLength: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65535 }),
});

const nodeFile = Type.Array(
  Type.Object(
    {
      id: Type.String({ pattern: "^[a-z0-9-]{1,32}$" }),
      controlUrl: Type.String({ pattern: "^https?://" }),
      /** A file that holds the control port's token. */
      controlTokenFile: Type.String({ minLength: 1 }),
      /** Where customers find it. */
      ftp: endpoint,
      web: endpoint,
    },
    { additionalProperties: false },
  ),
);

export interface NodeProfile extends Omit<Static<typeof nodeFile>[number], "controlTokenFile"> {
  controlToken: Secret;
}

/**
 * Reads the profiles and the tokens that they name (paths relative to the profile file).
 * @throws Error with one sentence that names the file and the field
 */
export function loadNodes(file: string): NodeProfile[] {
  const entries: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!Value.Check(nodeFile, entries)) {
    const [error] = Value.Errors(nodeFile, entries);
    throw new Error(`${file}: ${error?.instancePath ?? ""} ${error?.message ?? "is not valid"}`);
  }
  return entries.map(({ controlTokenFile, ...rest }) => ({
    ...rest,
    controlToken: new Secret(readFileSync(resolve(file, "..", controlTokenFile), "utf8").trim()),
  }));
}
