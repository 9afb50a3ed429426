import { extensionNames } from "./namespaces.ts";
import { defaultSettings, type Settings } from "./settings.ts";

/** Settings that take one of a few words or numbers only; a list takes several. */
const choices: Partial<Record<keyof Settings, readonly unknown[]>> = {
  atExpiry: ["auto-renew", "expire"],
  oldExpDateCode: [2004, 2105, 2306],
  extensions: Object.values(extensionNames),
  dataModel: ["thick", "thin"],
  hostModel: ["objects", "attributes"],
};

const indent = " ".repeat("  --setting NAME=VALUE         ".length);

/** The settings and their defaults, a line each, for the help. */
export function settingLines(): string {
  return names()
    .map((name) => `${indent}${name}=${textOf(defaultSettings[name])}${choiceNote(name)}`)
    .join("\n");
}

/**
 * `NAME=VALUE` as a setting: a number, a word, true or false, JSON for what has parts (`graceDays={"add":0}`; what it
 * leaves out stays as it is). Throws a sentence for what is no setting.
 */
export function parseSetting(text: string): [name: keyof Settings, value: unknown] {
  const equals = text.indexOf("=");
  const name = names().find((known) => known === text.slice(0, equals));
  if (equals < 0 || !name) throw new Error(`--setting: there is no "${text.slice(0, Math.max(equals, 0)) || text}".`);
  const written = text.slice(equals + 1);
  const standard = defaultSettings[name];
  const value = typeof standard === "string" ? written : jsonOf(written);
  if (!isLike(value, standard) || !isChosen(name, value)) {
    throw new Error(`--setting ${name} is as in ${name}=${textOf(standard)}${choiceNote(name)}, not "${written}".`);
  }
  return [name, value];
}

/** All but assertAnswers: a registry whose answers are not checked is for nothing but its own tests. */
function names(): (keyof Settings)[] {
  return (Object.keys(defaultSettings) as (keyof Settings)[]).filter((name) => name !== "assertAnswers");
}

function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function choiceNote(name: keyof Settings): string {
  const list = choices[name];
  return list ? ` (${list.join(", ")})` : "";
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value can stand where `standard` stands. Numbers are counts and times: whole, and not below zero. */
function isLike(value: unknown, standard: unknown): boolean {
  if (typeof standard === "number") return Number.isSafeInteger(value) && Number(value) >= 0;
  if (Array.isArray(standard)) return Array.isArray(value);
  if (typeof standard !== "object" || standard === null) return typeof value === typeof standard;
  const parts = standard as Record<string, unknown>;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.entries(value).every(([key, part]) => key in parts && isLike(part, parts[key]));
}

function isChosen(name: keyof Settings, value: unknown): boolean {
  const list = choices[name];
  return !list || [value].flat().every((one) => list.includes(one));
}
