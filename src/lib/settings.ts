/** Reads settings: values that an operator gives by name. src/config.ts lists them. */
import { readFileSync } from "node:fs";
import { checkTlsPair, type TlsPair } from "#lib/net/tls-pair.ts";

/** A missing or wrong setting keeps a process from starting. */
export class WrongSetting extends Error {
  override name = "WrongSetting";
}

/** Reads a value; `FOO_FILE` names a file that contains the value of `FOO`. */
export function readSetting(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const file = environment[`${name}_FILE`];
  if (file === undefined) return environment[name];
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new WrongSetting(`${name}_FILE cannot be read: ${(error as Error).message}`);
  }
}

export type Reader = ReturnType<typeof createReader>;

/** Reads values one by one and reports all mistakes together. */
export function createReader(environment: NodeJS.ProcessEnv) {
  const mistakes: string[] = [];
  const unreadable = new Set<string>();
  const read = (name: string): string | undefined => {
    try {
      return readSetting(environment, name);
    } catch (error) {
      if (!unreadable.has(name)) mistakes.push((error as Error).message);
      unreadable.add(name);
      return undefined;
    }
  };
  return {
    mistakes,
    text(name: string, fallback?: string): string {
      const value = read(name) ?? fallback;
      if ((value === undefined || value === "") && !unreadable.has(name)) mistakes.push(`${name} is not set`);
      return value ?? "";
    },
    optional: (name: string): string | undefined => read(name) || undefined,
    /** Of a setting that nothing works without. */
    requiredList(name: string): string[] {
      const entries = entriesOf(read(name));
      if (entries.length === 0 && !unreadable.has(name)) mistakes.push(`${name} is not set`);
      return entries;
    },
    list: (name: string): string[] => entriesOf(read(name)),
    integer(name: string, fallback: number, minimum: number): number {
      const value = read(name) ?? String(fallback);
      if (!/^[0-9]{1,9}$/.test(value) || Number(value) < minimum) {
        mistakes.push(`${name} must be a whole number of at least ${minimum}, not "${value}"`);
      }
      return Number(value);
    },
    flag(name: string): boolean {
      const value = read(name) ?? "0";
      if (value !== "0" && value !== "1") mistakes.push(`${name} must be 1 or 0, not "${value}"`);
      return value === "1";
    },
    /** In PEM; both or neither. */
    tls(certificateName: string, keyName: string): TlsPair | undefined {
      const certificate = read(certificateName) || undefined;
      const key = read(keyName) || undefined;
      const names = `${certificateName}_FILE and ${keyName}_FILE`;
      if (unreadable.has(certificateName) || unreadable.has(keyName)) return undefined;
      if ((certificate === undefined) !== (key === undefined)) mistakes.push(`${names} must be set together`);
      if (certificate === undefined || key === undefined) return undefined;
      const files = { certificate: environment[`${certificateName}_FILE`], key: environment[`${keyName}_FILE`] };
      const areFiles = files.certificate !== undefined && files.key !== undefined;
      const pair = { certificate, key, ...(areFiles && { files: files as { certificate: string; key: string } }) };
      try {
        checkTlsPair(pair);
      } catch (error) {
        mistakes.push(`${names} cannot be used: ${(error as Error).message}`);
      }
      return pair;
    },
    finish<T>(config: T): T {
      refuseMistakes(mistakes);
      return config;
    },
  };
}

const entriesOf = (text = "") => text.split(/[\s,]+/).filter((entry) => entry !== "");

/** @throws WrongSetting that lists every mistake, one per line */
export function refuseMistakes(mistakes: readonly string[]): void {
  if (mistakes.length === 0) return;
  const [first, ...others] = mistakes;
  throw new WrongSetting(others.length === 0 ? first : [manyMistakes, ...mistakes].join("\n  "));
}

const manyMistakes = "these settings are wrong or unsafe:";
