/** What a batch is about: registrations, or one kind of order about registered names. */
import { changeKillPoints, type KillPoint, killPoints } from "./kill-points.ts";
import { type ChangeKind, changeKinds, faultsOf } from "./kinds.ts";
import { allFaults, type Fault } from "./labels.ts";
import { changes, type OrderTable, registrations } from "./order-tables.ts";

export interface Subject {
  /** "create", or the kind. */
  id: string;
  table: OrderTable;
  faults: readonly Fault[];
  points: readonly KillPoint[];
  /** Absent: registrations. */
  kind?: ChangeKind;
}

const create: Subject = { id: "create", table: registrations, faults: allFaults, points: killPoints };

export const subjects: readonly Subject[] = [
  create,
  ...changeKinds.map((kind) => ({
    id: kind.id,
    table: changes,
    faults: faultsOf(kind),
    points: changeKillPoints(kind.commands),
    kind,
  })),
];

export function getSubject(id: string): Subject {
  const subject = subjects.find((candidate) => candidate.id === id);
  if (!subject) throw new Error(`there is no kind "${id}"`);
  return subject;
}

export function getKillPoint(subject: Subject, id: string): KillPoint {
  const point = subject.points.find((candidate) => candidate.id === id);
  if (!point) throw new Error(`there is no kill point "${id}" of ${subject.id}`);
  return point;
}

const faultsOfAll = subjects.flatMap(({ faults }) => faults);

/** The longest fault that the domain name begins with. */
export function faultOf(name: string): Fault {
  const [found] = faultsOfAll
    .filter(({ label }) => name.startsWith(label))
    .sort((one, other) => other.label.length - one.label.length);
  if (!found) throw new Error(`${name} has no label`);
  return found;
}
