import { familyNames } from "./families.ts";
import { extensionNames } from "./namespaces.ts";
import { defaultSettings, type Settings } from "./settings.ts";

/** The allowed values of settings that are not free; a list may have several. */
const choices: Partial<Record<keyof Settings, readonly unknown[]>> = {
  family: familyNames,
  atExpiry: ["auto-renew", "expire"],
  oldExpDateCode: [2004, 2105, 2306],
  extensions: Object.values(extensionNames),
  premiumClass: ["premium", "standard", "none"],
  dataModel: ["thick", "thin"],
  period: ["any", "years", "months", "none"],
  contactIds: ["client", "server"],
  hostModel: ["objects", "attributes"],
  authInfo: ["registrar", "registry", "registry-shown", "none"],
  infoShowsRegistrar: ["all", "sponsor", "none"],
  transferShows: ["all", "status"],
  launchPhase: ["open", "claims", "sunrise"],
};

const indent = " ".repeat("  --setting NAME=VALUE         ".length);

/** The settings with their defaults for the help, one per line. */
export function settingLines(): string {
  return names()
    .map((name) => `${indent}${name}=${textOf(defaultSettings[name])}${choiceNote(name)}`)
    .join("\n");
}

/**
 * Parses `NAME=VALUE`: a number, a word, true or false, or JSON for a setting with parts (`graceDays={"add":0}`; parts that it
 * omits keep their defaults).
 *
 * @throws Error with one sentence for an invalid setting
 */
export function parseSetting(text: string): [name: keyof Settings, value: unknown] {
  const equals = text.indexOf("=");
  const name = names().find((known) => known === text.slice(0, equals));
  if (equals < 0 || !name)
    throw new Error(`--setting: there is no setting "${text.slice(0, Math.max(equals, 0)) || text}".`);
  const written = text.slice(equals + 1);
  const standard = defaultSettings[name];
  const value = typeof standard === "string" ? written : jsonOf(written);
  const max = maxOf(name);
  if (!isLike(value, standard, max) || !isChosen(name, value)) {
    const limit = max === Number.MAX_SAFE_INTEGER ? "" : `, at most ${max}`;
    throw new Error(
      `--setting ${name} has the form ${name}=${textOf(standard)}${limit}${choiceNote(name)}, not "${written}".`,
    );
  }
  return [name, value];
}

/** All but assertAnswers: only the tests of the registry may switch the check of answers off. */
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

/** The longest delay of Node's timers, and a hundred years: longer times would not work. */
const msMax = 2 ** 31 - 1;
const daysMax = 36_525;

function maxOf(name: string): number {
  if (name.endsWith("Ms") || name.endsWith("MsMax")) return msMax;
  return name.endsWith("Days") ? daysMax : Number.MAX_SAFE_INTEGER;
}

/** Whether a value can replace `standard`. Numbers are counts and times: integers from 0 to `max`. */
function isLike(value: unknown, standard: unknown, max: number): boolean {
  if (typeof standard === "number") return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= max;
  if (Array.isArray(standard)) return Array.isArray(value);
  if (typeof standard !== "object" || standard === null) return typeof value === typeof standard;
  const parts = standard as Record<string, unknown>;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.entries(value).every(([key, part]) => key in parts && isLike(part, parts[key], max));
}

function isChosen(name: keyof Settings, value: unknown): boolean {
  // Three capitals (RFC 8748 §3.2): answers with another currency would be invalid.
  if (name === "feeCurrency") return /^[A-Z]{3}$/.test(String(value));
  const list = choices[name];
  return !list || [value].flat().every((one) => list.includes(one));
}
