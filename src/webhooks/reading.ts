/** What a webhook gets, and which keys read it: by a webhook, a key reads what GET /events shows it, and nothing else. */
import { isDeepStrictEqual } from "node:util";
import { type EventType, eventTypes, scopesFor, selectTypes, typesOf } from "#events/catalogue.ts";
import { requireScope } from "#use-case/scope.ts";
import type { Caller } from "#use-case/use-case.ts";

/** The type of deliveries that are about the webhook alone. Each key for webhooks may read them. */
export const testType = "webhook.test";

export interface Selection {
  /** Types and families; null: all. */
  types: readonly string[] | null;
  /** Of the key that chose them. */
  scopes: readonly string[];
}

/** The types that a webhook gets. */
export function typesSent({ types, scopes }: Selection): EventType[] {
  const wanted = types && new Set(selected(types));
  return typesOf(scopes).filter((type) => wanted?.has(type) ?? true);
}

const selected = (words: readonly string[]) => words.flatMap((word) => selectTypes(word) ?? []);

/** The types of the deliveries that a key may see, count and send again. */
export const typesShown = ({ scopes }: Pick<Caller, "scopes">): string[] => [...typesOf(scopes), testType];

/**
 * Whether a key may choose these types for a webhook. It needs the scope of each type that it names; of all types it gets those that it
 * may read, if there are any.
 * @throws ApiError `authorization_scope_missing`
 */
export function requireSelection(caller: Caller, types: readonly string[] | null): void {
  if (types === null) requireScope(caller, scopesFor(eventTypes));
  else requireTypes(caller, selected(types));
}

/** @throws ApiError `authorization_scope_missing` for the first scope that the key lacks to read these types */
export function requireTypes(caller: Caller, types: readonly string[]): void {
  const known = eventTypes.filter((type) => types.includes(type));
  for (const scope of scopesFor(known)) requireScope(caller, scope);
}

/**
 * The scopes of a webhook after a change by this key. To lead its events elsewhere, or to choose others, the key must be able to read
 * what the webhook gets before and after. A key that is not may change the rest, and the webhook gets what it got before.
 * @throws ApiError `authorization_scope_missing`
 */
export function scopesAfter(
  caller: Caller,
  old: Selection & { url: string },
  changed: { url: string; types: readonly string[] | null },
): readonly string[] {
  const sent = typesSent(old);
  if (changed.url !== old.url || !isDeepStrictEqual(changed.types, old.types)) {
    requireTypes(caller, sent);
    requireSelection(caller, changed.types);
  }
  const readable = new Set(typesOf(caller.scopes));
  return sent.every((type) => readable.has(type)) ? caller.scopes : old.scopes;
}
