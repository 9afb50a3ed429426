import type { UseCaseRequest } from "#use-case/use-case.ts";

/** The header that shows a client that its `Prefer: wait=N` holds answers (RFC 7240 §3), so that it need not poll. */
export function waitApplied({ waitSeconds }: Pick<UseCaseRequest, "waitSeconds">): Record<string, string> {
  return waitSeconds > 0 ? { "preference-applied": `wait=${waitSeconds}` } : {};
}
