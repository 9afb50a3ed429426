import type { Thing } from "./step.ts";

/** What exists at the registry because of us, in the order of its making. */
export class Ledger {
  #things: Thing[] = [];

  /** Writes a thing down, in place of one of the same name. @returns how to take that back */
  add(thing: Thing): () => void {
    const before = this.#things;
    const isThere = before.some(({ what }) => what === thing.what);
    this.#things = isThere ? before.map((other) => (other.what === thing.what ? thing : other)) : [...before, thing];
    return () => {
      this.#things = before;
    };
  }

  remove(what: string): void {
    this.#things = this.#things.filter((thing) => thing.what !== what);
  }

  /** The youngest first: what was made later may stand on what was made before. */
  inReverse(): Thing[] {
    return this.#things.toReversed();
  }
}
