/** Why an operator's command cannot be done, in one sentence that says what to do instead. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
  /** `not-found`: what it names does not exist; `refused`: it exists, but this cannot be done with it. */
  readonly kind: "not-found" | "refused";

  constructor(kind: "not-found" | "refused", message: string) {
    super(message);
    this.kind = kind;
  }
}
