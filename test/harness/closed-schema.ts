type Json = Record<string, unknown>;

/** The same JSON schema without room for further fields. */
export function closed<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(closed) as T;
  const parts = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)])) as T & Json;
  return parts.type === "object" && parts.properties ? { ...parts, additionalProperties: false } : parts;
}
