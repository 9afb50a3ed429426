/**
 * The paths that need no signature: bare, under /v1 and under /v2. What they answer depends on the request alone, so it says nothing
 * about anybody, and costs the same each time.
 */
import { describeApi } from "#api/openapi/document.ts";
import type { DescribedRoute } from "#api/openapi/operation.ts";
import { documentAnswerer, documentDocs } from "#api/openapi/serve.ts";
import { routes } from "#api/routes.ts";
import type { EdgeRequest } from "#api/run-route.ts";
import { v2Routes } from "#api/v2/routes.ts";
import type { ErrorCode } from "#errors.ts";
import type { Docs } from "#use-case/docs.ts";

/** The answer of an open route, as bytes. */
export interface OpenAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

export interface OpenRoute {
  method: "GET" | "POST";
  path: string;
  docs: Docs;
  /** Every error that it can answer beyond those of the edge. */
  errors: readonly ErrorCode[];
  /** @throws ApiError */
  answer(request: EdgeRequest): OpenAnswer;
}

export const openRoutes: readonly OpenRoute[] = [
  {
    method: "GET",
    path: "/openapi.json",
    docs: documentDocs,
    errors: [],
    answer: documentAnswerer(() => apiDocument()),
  },
];

/** The description of the whole API. */
export function apiDocument() {
  const signed = [...routes, ...v2Routes].map(
    ({ method, path, useCase: { docs, errors, scope } }): DescribedRoute => ({
      method,
      path,
      docs,
      errors,
      scopes: [scope].flat(),
    }),
  );
  return describeApi([...signed, ...openRoutes]);
}

const byPath = Map.groupBy(openRoutes, ({ path }) => path);

/** The open routes at a target's path, which has one spelling: nothing is signed. */
function openRoutesAt(target: string): readonly OpenRoute[] {
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const isPrefixed = path.startsWith("/v1/") || path.startsWith("/v2/");
  return byPath.get(isPrefixed ? path.slice("/v1".length) : path) ?? [];
}

export const findOpenRoute = ({ method, target }: Pick<EdgeRequest, "method" | "target">): OpenRoute | undefined =>
  openRoutesAt(target).find((route) => route.method === method);

/** The methods that an open path accepts; none elsewhere. */
export const openMethods = (target: string): string[] => openRoutesAt(target).map(({ method }) => method);
