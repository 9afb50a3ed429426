import { type Static, Type } from "typebox";
import { isCommand, type ParsedFrame } from "./command.ts";
import { commandNames } from "./dispatch.ts";
import { type CommandEffect, spoiledDelivery, spoiledNames } from "./labels.ts";
import { decisions } from "./objects.ts";
import { isRefusalCode, type ResultCode } from "./result-codes.ts";
import type { Settings } from "./settings.ts";
import { checkShape } from "./shape.ts";
import { styleNames } from "./style.ts";

/**
 * The faults of the whole registry, as opposed to labels, which concern one name: connections that hang, sessions that end, odd
 * output. Set at the start, and changed at run time; a reset restores those of the start.
 */

const nullable = <Shape extends Type.TSchema>(shape: Shape) => Type.Union([shape, Type.Null()]);
const count = Type.Integer({ minimum: 0 });
const milliseconds = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** What may happen to a new connection, by the stage at which it happens. */
const connectFates = {
  tcp: ["reset", "hang-accept", "hang-tls"],
  greeting: ["hang-greeting", "refuse-2500", "refuse-2501", "refuse-2502"],
} as const;

type ConnectStage = keyof typeof connectFates;
export type ConnectFate = (typeof connectFates)[ConnectStage][number];

/** What happens to commands of one kind, or to the next `times` only. */
const commandFault = Type.Object(
  {
    /** As in the journal, or finer: "host:create", "domain:restore-report" … */
    command: Type.Enum(commandNames.filter((name) => name !== "hello")),
    /** Only this domain name, host name, contact id or message id. */
    name: Type.Optional(Type.String()),
    as: Type.Enum([...spoiledNames, "refuse", "pending"]),
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The result code of a refusal. */
    code: Type.Optional(Type.Integer()),
    /** How late an answer is; absent: the setting lateMs. */
    delayMs: Type.Optional(milliseconds),
    /** How the pending command ends; absent: "approve". */
    decision: Type.Optional(Type.Enum([...decisions])),
  },
  { additionalProperties: false },
);

/** The commands whose decision the registry can take later; a transfer's request, and a name's delete, are pending by themselves. */
const pendingCommands = [
  ...["create", "renew", "update", "restore", "transfer"].map((verb) => `domain:${verb}`),
  ...["create", "update", "delete"].flatMap((verb) => [`host:${verb}`, `contact:${verb}`]),
];

export type CommandFault = Static<typeof commandFault>;

const faultsShape = Type.Object(
  {
    /** The first that fits a command applies to it, before the label of its name. */
    commands: Type.Array(commandFault),
    /** What happens to new connections, or to the next `times` only. */
    connect: nullable(
      Type.Object(
        { as: Type.Enum([...connectFates.tcp, ...connectFates.greeting]), times: Type.Optional(count) },
        { additionalProperties: false },
      ),
    ),
    /** Overrides the setting of that name. */
    sessionsMax: nullable(count),
    /** Ends a connection that sent nothing for this long; overrides the setting idleTimeoutMs. */
    idleMs: nullable(milliseconds),
    /** Ends a connection at this age; an existing one, this long after the change. */
    ageMs: nullable(milliseconds),
    /** The code of an unsolicited answer before the end by idleMs or ageMs; null: no answer. */
    endNoticeCode: nullable(Type.Enum([1500, 2500, 2501, 2502])),
    /** Forgets a login after this many commands, or this time by the registry's clock; then every command is refused with `code`. */
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
    /** Commands on one connection, including login; the next one is answered with 2500 and ends it. */
    commandsMax: nullable(count),
    /** A time window by the registry's clock in which connections and commands are reset, or refused with a code. */
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
  commands: [],
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

/** The current faults of a registry. */
export class Faults {
  readonly #initial: FaultSettings;
  readonly #listeners = new Set<() => void>();
  #current: FaultSettings;

  /** @throws RangeError for an invalid fault */
  constructor(initial: Partial<FaultSettings> = {}) {
    this.#initial = parseFaults({ ...noFaults, ...initial });
    this.#current = this.#initial;
  }

  get current(): Readonly<FaultSettings> {
    return this.#current;
  }

  /** Changes the given faults only. @throws RangeError for an invalid fault, and changes nothing */
  set(changes: Partial<FaultSettings>): void {
    this.#become(parseFaults({ ...this.#current, ...changes }));
  }

  /** Restores the faults of the start. */
  reset(): void {
    this.#become(this.#initial);
  }

  /** Calls `listener` after each change. @returns a function that removes the listener */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What happens to a connection at this stage, if anything; counts the connection. */
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

  /** The effect of the first fault that fits the command, if any; counts the command. */
  takeCommandEffect(frame: ParsedFrame, settings: Settings): CommandEffect | undefined {
    const { commands } = this.#current;
    const taken = commands.find(
      ({ command, name }) => isCommand(frame, command) && (name === undefined || name === frame.name),
    );
    if (!taken) return undefined;
    const left = commands.flatMap((fault) => (fault === taken ? oneLess(fault) : [fault]));
    this.#current = { ...this.#current, commands: left };
    return effectOfFault(taken, settings);
  }

  /** How the registry responds during maintenance; undefined outside of it. */
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

/** The fault after it has happened once more. */
function oneLess(fault: CommandFault): CommandFault[] {
  const { times = Number.POSITIVE_INFINITY } = fault;
  return times > 1 ? [times === Number.POSITIVE_INFINITY ? fault : { ...fault, times: times - 1 }] : [];
}

function effectOfFault({ as, code, delayMs, decision = "approve" }: CommandFault, settings: Settings): CommandEffect {
  if (as === "pending") return { scheduled: decision };
  if (as === "refuse") return { refusalCode: code as ResultCode };
  return { delivery: spoiledDelivery(as, { lateMs: delayMs ?? settings.lateMs }) };
}

function requireSensible({ command, as, code, delayMs, decision }: CommandFault): void {
  const needs = (isGiven: boolean, field: string, fault: string) => {
    if (isGiven && as !== fault) throw new RangeError(`commands: ${field} belongs to "${fault}", not to "${as}"`);
  };
  needs(code !== undefined, "code", "refuse");
  needs(delayMs !== undefined, "delayMs", "late");
  needs(decision !== undefined, "decision", "pending");
  if (as === "refuse" && !isRefusalCode(code ?? 0))
    throw new RangeError("commands: refuse needs a code from 2000 to 2502");
  if (as === "pending" && !pendingCommands.some((name) => isCommand({ operation: command }, name))) {
    throw new RangeError(`commands: ${command} cannot be pending; these can: ${pendingCommands.join(", ")}`);
  }
}

function parseFaults(value: unknown): FaultSettings {
  const faults = checkShape(faultsShape, value, "faults");
  faults.commands.forEach(requireSensible);
  for (const time of [faults.maintenance?.from, faults.maintenance?.until]) {
    if (time !== undefined && Number.isNaN(Date.parse(time)))
      throw new RangeError(`maintenance: "${time}" is not a time`);
  }
  return faults;
}
