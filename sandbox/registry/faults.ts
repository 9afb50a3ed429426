import { type Static, Type } from "typebox";
import { checkShape } from "./shape.ts";
import { styleNames } from "./style.ts";

/**
 * What the registry does wrong as a whole, as opposed to labels, which are about one name: connections that hang,
 * sessions that end, odd output. Given at start or changed at run time; a reset brings back what the start gave.
 */

const nullable = <Shape extends Type.TSchema>(shape: Shape) => Type.Union([shape, Type.Null()]);
const count = Type.Integer({ minimum: 0 });
const milliseconds = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** What may become of a new connection, by the stage that it reaches. */
const connectFates = {
  tcp: ["reset", "hang-accept", "hang-tls"],
  greeting: ["hang-greeting", "refuse-2500", "refuse-2501", "refuse-2502"],
} as const;

type ConnectStage = keyof typeof connectFates;
export type ConnectFate = (typeof connectFates)[ConnectStage][number];

const faultsShape = Type.Object(
  {
    /** What becomes of new connections, or of the next `times` only. */
    connect: nullable(
      Type.Object(
        { as: Type.Enum([...connectFates.tcp, ...connectFates.greeting]), times: Type.Optional(count) },
        { additionalProperties: false },
      ),
    ),
    /** In force instead of the setting of that name. */
    sessionsMax: nullable(count),
    /** A connection without a byte for so long ends; in force instead of the setting idleTimeoutMs. */
    idleMs: nullable(milliseconds),
    /** A connection ends when it is so old; one that is there already, so long after this is set. */
    ageMs: nullable(milliseconds),
    /** The code of the unasked answer that precedes the end by idleMs or ageMs; null: the end comes without a word. */
    endNoticeCode: nullable(Type.Enum([1500, 2500, 2501, 2502])),
    /** Forgets a login after so many commands, or when the registry's clock says so; then every command has `code`. */
    logout: nullable(
      Type.Object(
        {
          afterCommands: Type.Optional(count),
          afterMs: Type.Optional(count),
          code: Type.Enum([2002, 2200, 2202]),
        },
        { additionalProperties: false },
      ),
    ),
    /** Commands on one connection, login included; the next one is 2500 and the end. */
    commandsMax: nullable(count),
    /** Down by the registry's clock: connections and commands are reset, or refused with a code. */
    maintenance: nullable(
      Type.Object(
        {
          from: Type.Optional(Type.String()),
          until: Type.Optional(Type.String()),
          answer: Type.Enum(["reset", 2500, 2501, 2502]),
        },
        { additionalProperties: false },
      ),
    ),
    /** Refuses with 2306 a clTRID that the registrar has used before. */
    uniqueClTRIDs: Type.Boolean(),
    /** How answers are written. */
    styles: Type.Array(Type.Enum([...styleNames])),
  },
  { additionalProperties: false },
);

export type FaultSettings = Static<typeof faultsShape>;

const noFaults: FaultSettings = {
  connect: null,
  sessionsMax: null,
  idleMs: null,
  ageMs: null,
  endNoticeCode: null,
  logout: null,
  commandsMax: null,
  maintenance: null,
  uniqueClTRIDs: false,
  styles: [],
};

/** The faults of a registry as they are now. */
export class Faults {
  readonly #initial: FaultSettings;
  readonly #listeners = new Set<() => void>();
  #current: FaultSettings;

  /** @throws RangeError for what is no such fault */
  constructor(initial: Partial<FaultSettings> = {}) {
    this.#initial = parseFaults({ ...noFaults, ...initial });
    this.#current = this.#initial;
  }

  get current(): Readonly<FaultSettings> {
    return this.#current;
  }

  /** Changes the faults that are named, leaves the others. Throws a RangeError and changes nothing for a bad one. */
  set(changes: Partial<FaultSettings>): void {
    this.#become(parseFaults({ ...this.#current, ...changes }));
  }

  /** Brings back the faults of the start. */
  reset(): void {
    this.#become(this.#initial);
  }

  /** Calls `listener` after each change; returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What becomes of a connection that reaches this stage, if anything; counts it. */
  takeConnectFate(stage: ConnectStage, now: Date): ConnectFate | undefined {
    const answer = this.maintenanceAnswer(now);
    if (answer === "reset") return stage === "tcp" ? "reset" : undefined;
    if (answer !== undefined) return stage === "greeting" ? `refuse-${answer}` : undefined;
    const { connect } = this.#current;
    const fates: readonly ConnectFate[] = connectFates[stage];
    if (!connect || connect.times === 0 || !fates.includes(connect.as)) return undefined;
    if (connect.times !== undefined) {
      this.#current = { ...this.#current, connect: { ...connect, times: connect.times - 1 } };
    }
    return connect.as;
  }

  /** How the registry says that it is down, if it is. */
  maintenanceAnswer(now: Date): "reset" | 2500 | 2501 | 2502 | undefined {
    const { maintenance } = this.#current;
    if (!maintenance) return undefined;
    const { from, until, answer } = maintenance;
    const hasBegun = from === undefined || Date.parse(from) <= now.getTime();
    const isOver = until !== undefined && Date.parse(until) <= now.getTime();
    return hasBegun && !isOver ? answer : undefined;
  }

  #become(faults: FaultSettings): void {
    this.#current = faults;
    for (const listener of this.#listeners) listener();
  }
}

function parseFaults(value: unknown): FaultSettings {
  const faults = checkShape(faultsShape, value, "faults");
  for (const time of [faults.maintenance?.from, faults.maintenance?.until]) {
    if (time !== undefined && Number.isNaN(Date.parse(time))) throw new RangeError(`maintenance: "${time}" is no time`);
  }
  return faults;
}
