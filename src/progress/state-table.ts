/** State machines as tables; an event that the table does not list for a state changes nothing. */

export interface Transition<State extends string, Event extends string> {
  /** Its name in the documents. */
  row: string;
  from: State;
  event: Event;
  to: State;
}

export interface StateTable<State extends string, Event extends string> {
  transitions: readonly Transition<State, Event>[];
  /** Where an event leads; `undefined` if it changes nothing. */
  next(from: State, event: Event): Transition<State, Event> | undefined;
  /** The table has no way out. */
  isFinal(state: State): boolean;
}

/** A row of a table of states: its name in the documents, the states in which the event applies, and the next state. */
export type TransitionRow<State extends string, Event extends string = string> = readonly [
  row: string,
  from: State | readonly State[],
  event: Event,
  to: State,
];

export function stateTable<State extends string, Event extends string>(
  rows: readonly TransitionRow<State, Event>[],
): StateTable<State, Event> {
  const transitions = rows.flatMap(([row, states, event, to]) =>
    [states].flat().map((from) => ({ row, from: from as State, event, to })),
  );
  const byStateAndEvent = new Map(
    transitions.map((transition) => [`${transition.from}/${transition.event}`, transition]),
  );
  const left = new Set(transitions.map(({ from }) => from));
  return {
    transitions,
    next: (from, event) => byStateAndEvent.get(`${from}/${event}`),
    isFinal: (state) => !left.has(state),
  };
}

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
