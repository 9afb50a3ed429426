/** The groups of nodes that reach each other, each sorted (Tarjan, "Depth-first search and linear graph algorithms", 1972). */
export function circlesOf(next: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const open: string[] = [];
  const visit = (node: string): number => {
    const own = order.size;
    let lowest = own;
    order.set(node, own);
    open.push(node);
    for (const target of next.get(node) ?? []) {
      const known = order.get(target);
      if (known === undefined) lowest = Math.min(lowest, visit(target));
      else if (open.includes(target)) lowest = Math.min(lowest, known);
    }
    if (lowest === own) {
      const circle = open.splice(open.indexOf(node)).sort();
      if (circle.length > 1 || next.get(node)?.includes(node)) circles.push(circle);
    }
    return lowest;
  };
  for (const node of next.keys()) if (!order.has(node)) visit(node);
  return circles;
}

/** "src/hosting: accounts and nodes" for each two folders next to each other that import each other. */
export function foldersInCircles(imports: readonly { from: string; to: string }[]): Map<string, string[]> {
  const edges = Map.groupBy(
    imports.flatMap(({ from, to }) => {
      const [a, b] = [from.split("/"), to.split("/")];
      const at = a.findIndex((part, index) => part !== b[index]);
      if (at < 0 || at >= a.length - 1 || at >= b.length - 1) return [];
      return [{ parent: a.slice(0, at).join("/"), own: a[at]!, other: b[at]!, line: `${from} imports ${to}` }];
    }),
    ({ parent, own, other }) => `${parent}: ${own} and ${other}`,
  );
  const pairs = new Map<string, string[]>();
  for (const [pair, there] of edges) {
    const { parent, own, other } = there[0]!;
    const back = edges.get(`${parent}: ${other} and ${own}`);
    if (own < other && back)
      pairs.set(
        pair,
        [...there, ...back].map(({ line }) => line),
      );
  }
  return pairs;
}
