import type { UseCase } from "#use-case/use-case.ts";

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `:name` is one path segment. */
  path: string;
  useCase: UseCase;
  /** The path is also served with a slash at its end. */
  takesSlash?: true;
  /** Programs written for the service interface may send fields and parameters that this service does not have. */
  takesMore?: true;
}

interface Path {
  pattern: string[];
  takesSlash: boolean;
  byMethod: Map<string, Route>;
}

export interface RouteMatch {
  /** Absent when the path exists but does not take the method. */
  route: Route | undefined;
  params: Record<string, string>;
  /** The methods that the path accepts. */
  allowed: string[];
  /** The path in its one canonical spelling, without a slash at its end. */
  path: string;
}

/**
 * Makes the look-up of a table of routes. It takes segments that are decoded and in lower case, and returns undefined when
 * nothing is at the path.
 */
export function routeFinder(routes: readonly Route[]) {
  // Literal paths first: GET /domains/registrations is not the page of a domain.
  const paths: Path[] = [...Map.groupBy(routes, ({ path }) => path)]
    .sort(([left], [right]) => Number(left.includes(":")) - Number(right.includes(":")))
    .map(([path, at]) => ({
      pattern: path.split("/").slice(1),
      takesSlash: at.some(({ takesSlash }) => takesSlash),
      byMethod: new Map(at.map((route) => [route.method, route])),
    }));

  return (method: string, segments: readonly string[]): RouteMatch | undefined => {
    const withoutSlash = segments.at(-1) === "" ? segments.slice(0, -1) : undefined;
    for (const { pattern, takesSlash, byMethod } of paths) {
      const at = takesSlash && withoutSlash ? withoutSlash : segments;
      const params = matchSegments(pattern, at);
      if (!params) continue;
      return { route: byMethod.get(method), params, allowed: [...byMethod.keys()], path: `/${at.join("/")}` };
    }
    return undefined;
  };
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
