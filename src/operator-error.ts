/** Why an operator's command cannot be carried out, in one sentence that says what to do instead. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
  /** `not-found`: the object does not exist; `refused`: it exists, but the command cannot be applied to it. */
  readonly kind: "not-found" | "refused";

  constructor(kind: "not-found" | "refused", message: string) {
    super(message);
    this.kind = kind;
  }
}
