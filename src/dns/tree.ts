/** The names of a zone as RFC 1034 §4.3.2 and RFC 4592 look at them. */
import { apex, parentOf } from "#dns/names.ts";

export interface TreeNode<S> {
  owner: string;
  /** By type. Empty for a name that exists only because another one is below it. */
  sets: Map<string, S>;
}

/** Where a name is found: below or at a delegation, by itself, by a wildcard that covers it, or nowhere. */
export type Place<S> = { kind: "cut" | "node" | "wildcard"; node: TreeNode<S> } | { kind: "none"; node?: undefined };

export class ZoneTree<S extends { owner: string; type: string }> {
  readonly #nodes = new Map<string, TreeNode<S>>();

  constructor(sets: Iterable<S>) {
    this.#add(apex);
    for (const set of sets) this.#add(set.owner).sets.set(set.type, set);
  }

  #add(owner: string): TreeNode<S> {
    const present = this.#nodes.get(owner);
    if (present) return present;
    const node = { owner, sets: new Map<string, S>() };
    this.#nodes.set(owner, node);
    const parent = parentOf(owner);
    if (parent !== undefined) this.#add(parent);
    return node;
  }

  get nodes(): Iterable<TreeNode<S>> {
    return this.#nodes.values();
  }

  get(owner: string): TreeNode<S> | undefined {
    return this.#nodes.get(owner);
  }

  /** The delegation at the owner or above it that is nearest to the apex. */
  cutOf(owner: string): TreeNode<S> | undefined {
    const parent = parentOf(owner);
    if (parent === undefined) return undefined;
    const node = this.#nodes.get(owner);
    return this.cutOf(parent) ?? (node?.sets.has("NS") ? node : undefined);
  }

  find(owner: string): Place<S> {
    const cut = this.cutOf(owner);
    if (cut) return { kind: "cut", node: cut };
    const exact = this.#nodes.get(owner);
    if (exact) return { kind: "node", node: exact };
    let encloser = parentOf(owner);
    while (encloser !== undefined && !this.#nodes.has(encloser)) encloser = parentOf(encloser);
    // RFC 4592 §3.3.1: only the wildcard right below the closest encloser counts.
    const wildcard = this.#nodes.get(encloser === apex ? "*" : `*.${encloser}`);
    return wildcard ? { kind: "wildcard", node: wildcard } : { kind: "none" };
  }
}
