import { inspect } from "node:util";

/** A value that never prints: in logs, errors, JSON and templates it appears as `[secret]`. */
export class Secret<T = string> {
  readonly #value: T;
  constructor(value: T) {
    this.#value = value;
  }
  /** The value itself: call it only where the value is used. */
  reveal(): T {
    return this.#value;
  }
  toString(): string {
    return "[secret]";
  }
  toJSON(): string {
    return "[secret]";
  }
  [inspect.custom](): string {
    return "[secret]";
  }
}
