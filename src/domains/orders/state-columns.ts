/** A state as the columns of its row. */

export interface StateColumns {
  status: string;
  phase: string | null;
  verify_cause: string | null;
}

/** The name of a row's state. */
export function stateOf<State extends string>({ status, phase, verify_cause }: StateColumns): State {
  if (phase === null) return status as State;
  return `${status} (${verify_cause === null ? phase : `${phase}: ${verify_cause}`})` as State;
}

/** The columns of a state. */
export function columnsOf(state: string): StateColumns {
  const [, status, phase, cause] = /^(\w+)(?: \((\w+)(?:: (\w+))?\))?$/.exec(state) ?? [];
  return { status: status!, phase: phase ?? null, verify_cause: cause ?? null };
}
