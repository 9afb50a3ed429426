/** What the panel does wrong on request, once each. */

/** What becomes of an answer. `refusal`: the panel says that it did not do it, for a reason that tells nothing. */
export const manners = ["silence", "cut", "error", "garbage", "redirect", "refusal"] as const;
export type Manner = (typeof manners)[number];

export interface Fault {
  /** Of WHM, or of UAPI as `Ftp::add_ftp`. */
  name: string;
  /** Whether the function is run before. */
  moment: "before" | "after";
  manner: Manner;
}

export class Faults {
  readonly #waiting: (Fault & { met: () => void })[] = [];

  /** Resolves when the next call of this function has met it, and has been done, if it is to be. */
  add(fault: Fault): Promise<void> {
    return new Promise((met) => this.#waiting.push({ ...fault, met }));
  }

  take(name: string): (Fault & { met: () => void }) | undefined {
    const index = this.#waiting.findIndex((fault) => fault.name === name);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }
}
