/**
 * The paths that need no signature: bare, under /v1 and under /v2. Their answers depend on the request alone, so they reveal
 * nothing about any account and always cost the same.
 */
import type { Authenticator } from "#api/authenticate.ts";
import { describeApi } from "#api/openapi/document.ts";
import type { DescribedRoute } from "#api/openapi/operation.ts";
import { documentAnswerer, documentDocs } from "#api/openapi/serve.ts";
import { routes } from "#api/routes.ts";
import type { EdgeRequest } from "#api/run-route.ts";
import { checkSignature, checkSignatureUnsigned } from "#api/signing/check-signature.ts";
import type { UnsignedLimit } from "#api/source-guard.ts";
import { v2Routes } from "#api/v2/routes.ts";
import type { ErrorCode } from "#errors.ts";
import type { Docs } from "#use-case/docs.ts";
import type { Answer } from "#use-case/use-case.ts";

export interface OpenRoute extends UnsignedLimit {
  method: "GET" | "POST";
  docs: Docs;
  /** A request with a signature goes to the route of the same path in `routes`, which says more. */
  isSignedToo?: true;
  /** Every error that it can answer beyond those of the edge. */
  errors: readonly ErrorCode[];
  /** @throws ApiError */
  answer(request: EdgeRequest, authenticator: Pick<Authenticator, "judgeTimes">): Answer;
}

export const openRoutes: readonly OpenRoute[] = [
  {
    method: "GET",
    path: "/openapi.json",
    docs: documentDocs,
    errors: [],
    requestsMax: 60,
    answer: documentAnswerer(() => apiDocument()),
  },
  {
    method: "POST",
    path: "/signature-check",
    docs: checkSignature.docs,
    errors: checkSignature.errors,
    requestsMax: 30,
    isSignedToo: true,
    answer: ({ body }, { judgeTimes }) => checkSignatureUnsigned(body, judgeTimes),
  },
];

/** The description of the whole API. */
export function apiDocument() {
  const signed = [...routes, ...v2Routes].map(
    ({ method, path, useCase: { docs, errors, scope, changesNothing } }): DescribedRoute => ({
      method,
      path,
      docs,
      errors,
      scopes: [scope].flat(),
      changesNothing,
      isSignatureOptional: openRoutes.some((open) => open.path === path && open.method === method),
    }),
  );
  return describeApi([...signed, ...openRoutes.filter(({ isSignedToo }) => !isSignedToo)]);
}

const byPath = Map.groupBy(openRoutes, ({ path }) => path);

/** The open routes at a target's path, in any case, as elsewhere. */
function openRoutesAt(target: string): readonly OpenRoute[] {
  const end = target.indexOf("?");
  const path = (end < 0 ? target : target.slice(0, end)).toLowerCase();
  const isPrefixed = path.startsWith("/v1/") || path.startsWith("/v2/");
  return byPath.get(isPrefixed ? path.slice("/v1".length) : path) ?? [];
}

/** @returns undefined for a request that needs a signature, or has one that its route checks */
export function findOpenRoute({ method, target, headers }: OpenRequest): OpenRoute | undefined {
  const route = openRoutesAt(target).find((open) => open.method === method);
  return route?.isSignedToo && isSigned(headers) ? undefined : route;
}

type OpenRequest = Pick<EdgeRequest, "method" | "target" | "headers">;

const isSigned = ({ authorization, signature, "signature-input": input }: EdgeRequest["headers"]) =>
  [authorization, signature, input].some((header) => header !== undefined);

/** The methods that an open path accepts; none elsewhere. */
export const openMethods = (target: string): string[] => openRoutesAt(target).map(({ method }) => method);
