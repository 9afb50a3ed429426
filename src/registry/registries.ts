/**
 * Registry profiles as data: what is true of one registry and not of another stands in a JSON file, not in code.
 * The file is an array of the objects that `registryFile` describes; times that it leaves out take the defaults of
 * the EPP session rules.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { Secret } from "#lib/secret.ts";

const milliseconds = Type.Integer({ minimum: 0 });

const registryFile = Type.Array(
  Type.Object(
    {
      id: Type.String({ pattern: "^[a-z0-9-]{1,32}$" }),
      host: Type.String({ minLength: 1 }),
      port: Type.Integer({ minimum: 1, maximum: 65535 }),
      /** The name that the registry's certificate carries, when it is not `host`. */
      servername: Type.Optional(Type.String({ minLength: 1 })),
      caFile: Type.String({ minLength: 1 }),
      certFile: Type.Optional(Type.String({ minLength: 1 })),
      keyFile: Type.Optional(Type.String({ minLength: 1 })),
      registrarId: Type.String({ minLength: 3, maxLength: 16 }),
      password: Type.String({ minLength: 6, maxLength: 16 }),
      suffixes: Type.Array(Type.String({ pattern: "^[a-z0-9.-]+$" }), { minItems: 1 }),
      sessionsMax: Type.Optional(Type.Integer({ minimum: 2 })),
      commandsPerSecond: Type.Optional(Type.Integer({ minimum: 1 })),
      periodYears: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
      transformTimeoutMs: Type.Optional(milliseconds),
      queryTimeoutMs: Type.Optional(milliseconds),
      pollIntervalMs: Type.Optional(milliseconds),
      reconcileIntervalMs: Type.Optional(milliseconds),
      backoffFirstMs: Type.Optional(milliseconds),
      backoffMaxMs: Type.Optional(milliseconds),
      /** Result codes that this registry uses in its own way: code → the order event they mean. */
      resultCodes: Type.Optional(Type.Record(Type.String({ pattern: "^[0-9]{4}$" }), Type.String())),
    },
    { additionalProperties: false },
  ),
);

type RegistryEntry = Static<typeof registryFile>[number];

export interface RegistryProfile extends Required<Omit<RegistryEntry, "password" | "caFile" | "certFile" | "keyFile">> {
  password: Secret;
  ca: string;
  cert: string | undefined;
  key: string | undefined;
  /** After a lost answer nothing is believed before this has passed: 2 × the transform timeout. */
  settleMs: number;
}

/**
 * Reads the profiles and the certificates that they name (paths relative to the profile file).
 * @throws Error with one sentence that names the file and the field
 */
export function loadRegistries(file: string): RegistryProfile[] {
  const entries: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!Value.Check(registryFile, entries)) {
    const [error] = Value.Errors(registryFile, entries);
    throw new Error(`${file}: ${error?.instancePath ?? ""} ${error?.message ?? "is not valid"}`);
  }
  const read = (path: string) => readFileSync(resolve(file, "..", path), "utf8");
  return entries.map((entry) => {
    const { password, caFile, certFile, keyFile, ...rest } = entry;
    const transformTimeoutMs = entry.transformTimeoutMs ?? 30_000;
    return {
      servername: entry.host,
      sessionsMax: 10,
      commandsPerSecond: 50,
      periodYears: 1,
      queryTimeoutMs: 10_000,
      pollIntervalMs: 30_000,
      reconcileIntervalMs: 15 * 60_000,
      backoffFirstMs: 5_000,
      backoffMaxMs: 10 * 60_000,
      resultCodes: {},
      ...rest,
      transformTimeoutMs,
      settleMs: 2 * transformTimeoutMs,
      password: new Secret(password),
      ca: read(caFile),
      cert: certFile === undefined ? undefined : read(certFile),
      key: keyFile === undefined ? undefined : read(keyFile),
    };
  });
}
