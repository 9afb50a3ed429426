/** What rules and dashboards ask for. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
export const read = (path: string) => readFileSync(file(path), "utf8");
export const rules = read("ops/prometheus/rules.yml");
export const dashboards = readdirSync(file("ops/grafana")).map((name) => `ops/grafana/${name}`);

export const ofRules = [...rules.matchAll(/expr: '(.*)'/g)].map(([, expression]) => expression!);
export const ofPanels = dashboards.flatMap((path) => {
  const { panels } = JSON.parse(read(path)) as { panels: { targets: { expr: string }[] }[] };
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
});

/** What PromQL itself has. */
const words = /^(absent|sum|max|min|by|rate|increase|histogram_quantile|topk|or|and|unless)$/;
/** Prometheus adds these to everything that it scrapes. */
const added = ["instance", "job"];

/** The names of an expression that are not known, and labels that its metrics do not have. @param known the labels of each metric */
export function unknownIn(expression: string, known: ReadonlyMap<string, Iterable<string>>): string[] {
  const unknown: string[] = [];
  const labelsOf = (name: string) => [...known.get(name)!, ...added];
  for (const [, name, , selector = ""] of expression.matchAll(/\b([a-z]\w*)(\{([^}]*)\})?(?!\w)/g)) {
    if (words.test(name!) || name === "up") continue;
    if (!known.has(name!)) {
      if (name!.includes("_")) unknown.push(name!);
      continue;
    }
    for (const [, label] of selector.matchAll(/(\w+)(?:=|!)/g)) {
      if (!labelsOf(name!).includes(label!)) unknown.push(`${name}{${label}}`);
    }
  }
  const named = [...known.keys()].filter((name) => new RegExp(`\\b${name}\\b`).test(expression));
  for (const [, list] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list!.split(", ")) {
      if (named.length > 0 && !named.some((name) => labelsOf(name).includes(label))) unknown.push(`by ${label}`);
    }
  }
  return unknown;
}
