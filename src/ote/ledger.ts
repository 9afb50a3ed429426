import type { Thing } from "#ote/step.ts";

/** Our objects at the registry, in the order of their creation. */
export class Ledger {
  #things: Thing[] = [];

  /** Records an object, next to another of the same name: until the answer arrives, either may exist. */
  add(thing: Thing): void {
    this.#things = [...this.#things, thing];
  }

  /** The registry has refused to create it. */
  takeBack(thing: Thing): void {
    this.#things = this.#things.filter((other) => other !== thing);
  }

  /** The registry has created it, in place of another of the same name. */
  confirm(thing: Thing): void {
    this.#things = this.#things.filter((other) => other === thing || other.what !== thing.what);
  }

  /** The answer says what it really is. */
  replace(thing: Thing, made: Thing): void {
    this.#things = this.#things.map((other) => (other === thing ? made : other));
  }

  remove(what: string): void {
    this.#things = this.#things.filter((thing) => thing.what !== what);
  }

  /** The newest first: a later object may depend on an earlier one. */
  inReverse(): Thing[] {
    return this.#things.toReversed();
  }
}
