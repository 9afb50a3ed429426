import type { Thing } from "#ote/step.ts";

/** What exists at the registry because of us, in the order of its making. */
export class Ledger {
  #things: Thing[] = [];

  /** Writes a thing down, beside one of the same name: as long as there is no answer, either may be there. */
  add(thing: Thing): void {
    this.#things = [...this.#things, thing];
  }

  /** The registry has refused it. */
  takeBack(thing: Thing): void {
    this.#things = this.#things.filter((other) => other !== thing);
  }

  /** The registry has made it, in place of one of the same name. */
  confirm(thing: Thing): void {
    this.#things = this.#things.filter((other) => other === thing || other.what !== thing.what);
  }

  remove(what: string): void {
    this.#things = this.#things.filter((thing) => thing.what !== what);
  }

  /** The youngest first: what was made later may stand on what was made before. */
  inReverse(): Thing[] {
    return this.#things.toReversed();
  }
}
