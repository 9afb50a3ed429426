/**
 * What a registry's messages without a standard form mean: rules of its profile, by the text or by the name of the data. Texts
 * come from outside, so the syntax of rules admits none that could take long: no groups, and few quantifiers.
 */

import Type, { type Static } from "typebox";

const matchCharsMax = 200;
const rulesMax = 100;
/** The field with what a rule does. As a literal key it would look like that of a promise. */
export const outcomeField = "then";

export const messageRules = Type.Array(
  Type.Object(
    {
      /** A part of the text in any case; with ^ at its beginning and $ at its end a pattern for the whole text. */
      match: Type.Optional(Type.String({ minLength: 1, maxLength: matchCharsMax })),
      /** The local name of an element of the data, such as "delData". */
      data: Type.Optional(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_.-]{0,63}$" })),
      /** Where the data name domains: paths of local names below them, such as "list/item/name". */
      names: Type.Optional(
        Type.Array(Type.String({ pattern: "^[A-Za-z_][\\w.-]{0,63}(/[A-Za-z_][\\w.-]{0,63}){0,7}$" }), {
          minItems: 1,
          maxItems: 10,
        }),
      ),
      /** Reported and forgotten, kept, or kept until a person has read it. */
      [outcomeField]: Type.Enum(["tell", "keep", "alarm"]),
    },
    { additionalProperties: false },
  ),
  { maxItems: rulesMax },
);

export type MessageRule = Static<typeof messageRules>[number];

/** A pattern matches no longer text. With two quantifiers the time grows with the square of the length: 2 ms; with three 190 ms. */
export const patternTextCharsMax = 500;
const variableQuantifiersMax = 2;

/** One character or class, then perhaps how often. */
const patternPart =
  /(?:\\[dDwWsS]|\\[\^$\\.*+?()[\]{}|/-]|\[\^?(?:\\[dDwWsS^\]\\-]|[^\]\\[])+\]|[^\\()[\]{}|*+?^$])([*+?]|\{\d{1,3}(?:,\d{0,3})?\})?/uy;

const isPattern = (match: string) => match.startsWith("^");

/** Describes the first rule that cannot be used. */
export function findRulesFault(rules: readonly MessageRule[] = []): string | undefined {
  for (const [index, rule] of rules.entries()) {
    const fault = findRuleFault(rule);
    if (fault !== undefined) return `messages.${index} ${fault}`;
  }
  return undefined;
}

function findRuleFault({ match, data, names }: MessageRule): string | undefined {
  if (names !== undefined && data === undefined) return "has names, so it needs data: the element that they stand in";
  if ((match === undefined) === (data === undefined)) return "needs either match or data";
  return match !== undefined && isPattern(match) ? findPatternFault(match) : undefined;
}

function findPatternFault(match: string): string | undefined {
  if (!/[^\\](?:\\\\)*\$$/.test(match)) return "begins with ^, so it must end with $";
  const inner = match.slice(1, -1);
  let variable = 0;
  for (patternPart.lastIndex = 0; patternPart.lastIndex < inner.length; ) {
    const at = patternPart.lastIndex;
    const part = patternPart.exec(inner);
    if (!part) return `cannot be read from its character ${at + 2} on: a pattern has no groups and no alternatives`;
    if (part[1] !== undefined && !/^\{\d+\}$/.test(part[1])) variable += 1;
  }
  if (variable > variableQuantifiersMax) return `has more than ${variableQuantifiersMax} of * + ? {n,m}`;
  try {
    compilePattern(match);
    return undefined;
  } catch {
    return "is not a pattern";
  }
}

const compilePattern = (match: string) => new RegExp(match, "iu");

/** A message, as rules see it. */
export interface RuledMessage {
  readonly text: string;
  /** As "delData (http://…)". */
  readonly dataNames: readonly string[];
}

export type FindRule = (message: RuledMessage) => MessageRule | undefined;

/** @param rules without faults @returns a function that finds the first rule for a message */
export function compileRules(rules: readonly MessageRule[]): FindRule {
  const tests = rules.map((rule) => ({ rule, isMet: testOf(rule) }));
  return (message) => tests.find(({ isMet }) => isMet(message))?.rule;
}

function testOf({ match, data }: MessageRule): (message: RuledMessage) => boolean {
  if (match === undefined) return ({ dataNames }) => dataNames.some((name) => name.split(" ")[0] === data);
  if (!isPattern(match)) {
    const part = match.toLowerCase();
    return ({ text }) => text.toLowerCase().includes(part);
  }
  const pattern = compilePattern(match);
  return ({ text }) => text.length <= patternTextCharsMax && pattern.test(text);
}
