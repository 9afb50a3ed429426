import { registerDomain } from "#domains/orders/register.ts";
import { orderStatus } from "#domains/orders/status.ts";
import { listDomains } from "#domains/portfolio/list.ts";
import { readDomain } from "#domains/portfolio/read.ts";
import { listRenewals } from "#domains/renewals/list.ts";
import { setWillRenew } from "#domains/renewals/renew.ts";
import { createHostingAccount } from "#hosting/accounts/create.ts";
import { deleteHostingAccount } from "#hosting/accounts/delete.ts";
import { readHostingHistory } from "#hosting/accounts/history.ts";
import { setHostingPassword } from "#hosting/accounts/password.ts";
import { listHostingAccounts, readHostingAccount } from "#hosting/accounts/read.ts";
import { addHostNameToAccount } from "#hosting/host-names/add.ts";
import { listHostNames, readHostName } from "#hosting/host-names/read.ts";
import { removeHostNameFromAccount } from "#hosting/host-names/remove.ts";
import { listServicePacks } from "#hosting/packs/list.ts";
import type { UseCase } from "#use-case/use-case.ts";

export interface Route {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the prefixes; `:name` is one path segment. */
  path: string;
  useCase: UseCase;
}

/**
 * The whole API; every path is served bare and under /v1. The golden file test/golden/routes.txt is printed from it.
 */
export const routes: readonly Route[] = [
  { method: "GET", path: "/domains", useCase: listDomains },
  { method: "GET", path: "/domains/:domain_name", useCase: readDomain },
  { method: "POST", path: "/domains/registrations", useCase: registerDomain },
  { method: "GET", path: "/domains/registrations/:order_code", useCase: orderStatus },
  { method: "PUT", path: "/domains/:domain_name/renew", useCase: setWillRenew },
  { method: "GET", path: "/renewals", useCase: listRenewals },
  { method: "GET", path: "/hostingaccounts", useCase: listHostingAccounts },
  { method: "GET", path: "/hostingaccounts/:identifier", useCase: readHostingAccount },
  { method: "POST", path: "/hostingaccounts", useCase: createHostingAccount },
  { method: "DELETE", path: "/hostingaccounts/:identifier", useCase: deleteHostingAccount },
  { method: "PUT", path: "/hostingaccounts/:identifier/password", useCase: setHostingPassword },
  { method: "GET", path: "/hostingaccounts/:identifier/history", useCase: readHostingHistory },
  { method: "GET", path: "/hostingaccounts/:identifier/hosts", useCase: listHostNames },
  { method: "GET", path: "/hostingaccounts/:identifier/hosts/:host_name", useCase: readHostName },
  { method: "PUT", path: "/hostingaccounts/:identifier/hosts/:host_name", useCase: addHostNameToAccount },
  { method: "DELETE", path: "/hostingaccounts/:identifier/hosts/:host_name", useCase: removeHostNameFromAccount },
  { method: "GET", path: "/servicepacks", useCase: listServicePacks },
];

interface Path {
  pattern: string[];
  byMethod: Map<string, Route>;
}

/** The routes by path, literal paths first: GET /domains/registrations is not the page of a domain. */
const paths: Path[] = [...Map.groupBy(routes, ({ path }) => path)]
  .sort(([left], [right]) => Number(left.includes(":")) - Number(right.includes(":")))
  .map(([path, at]) => ({
    pattern: path.split("/").slice(1),
    byMethod: new Map(at.map((route) => [route.method, route])),
  }));

export interface RouteMatch {
  prefix: "" | "/v1";
  /** Absent when the path exists but does not take the method. */
  route: Route | undefined;
  params: Record<string, string>;
  /** The methods that the path accepts. */
  allowed: string[];
}

/**
 * Finds the route of a path.
 * @param segments decoded and in lower case, as `readTarget` returns them
 * @returns undefined when nothing is at this path
 */
export function matchRoute(method: string, segments: readonly string[]): RouteMatch | undefined {
  const prefix = segments[0] === "v1" ? "/v1" : "";
  const below = prefix === "" ? segments : segments.slice(1);
  for (const { pattern, byMethod } of paths) {
    const params = matchSegments(pattern, below);
    if (params) return { prefix, route: byMethod.get(method), params, allowed: [...byMethod.keys()] };
  }
  return undefined;
}

function matchSegments(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (let index = 0; index < pattern.length; index++) {
    const part = pattern[index]!;
    const segment = segments[index]!;
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}
