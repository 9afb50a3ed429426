import { ApiError } from "#errors.ts";
import type { Caller, Scope } from "#use-case/use-case.ts";

/** @throws ApiError `authorization_scope_missing` when the key has none of the scopes */
export function requireScope({ scopes }: Caller, scope: Scope | readonly Scope[]): void {
  const accepted = typeof scope === "string" ? [scope] : scope;
  if (accepted.some((one) => scopes.includes(one))) return;
  throw new ApiError("authorization_scope_missing", {
    text: `This API key does not have the scope ${accepted.join(" or ")}.`,
  });
}
