/** The panel's faults on request, each once. */

/** What happens to an answer. `refusal`: the panel refuses without a useful reason. */
export const manners = ["silence", "cut", "error", "garbage", "redirect", "refusal"] as const;
export type Manner = (typeof manners)[number];

export interface Fault {
  /** A function of WHM, or of UAPI as `Ftp::add_ftp`. */
  name: string;
  /** Whether the function is executed. */
  moment: "before" | "after";
  manner: Manner;
}

export class Faults {
  readonly #waiting: (Fault & { met: () => void })[] = [];

  /** Resolves when the next call of this function has had the fault, and was executed if it is to be. */
  add(fault: Fault): Promise<void> {
    return new Promise((met) => this.#waiting.push({ ...fault, met }));
  }

  take(name: string): (Fault & { met: () => void }) | undefined {
    const index = this.#waiting.findIndex((fault) => fault.name === name);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }
}
