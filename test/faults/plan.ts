/** Plans the batches and their order, from the seed alone. */
import { seededRandom } from "../harness/seeded-random.ts";
import type { Batch } from "./batch.ts";
import { canReach, drawnPoints, type KillPoint } from "./kill-points.ts";
import { type Subject, subjects } from "./subjects.ts";

const seedMax = 2 ** 31;
/** Few faults end with a message, so there are more orders of each. */
const messagesPerLabel = 4;

/** For the reduced matrix: a few orders at most points. They end soon, and their faults cause every kind of step. */
const quickLabels = [
  "plain-",
  "drop-after-",
  "drop-before-",
  "race-",
  "pending-approve-",
  "pending-deny-",
  "code-2304-",
  "code-2104-",
];
const quickPoints = [
  ...["claimed", "contact-known", "attempted", "written", "executed", "answered", "between-infos", "deleted"],
  ...["message-stored", "random-commit"],
];

/** The same for orders about registered names: those that cost money at some points, each of the others at one. */
const quickChangeFaults = ["plain", "drop-after", "drop-before", "once-2306", "code-2304", "pending-deny"];
const quickPaidPoints = ["written", "executed", "answered"];
const quickChangePoints = ["attempted", "written", "executed", "answered", "between-infos"];
const paidSubjects = ["renew", "restore"];

/** Rounds over all kinds and all points, each with every fault that can reach the point, shuffled. */
export function planWhole(seed: number, rounds: number): Batch[] {
  const draw = seededRandom(seed);
  return Array.from({ length: rounds }, (_, index) => planRound(draw, index + 1)).flat();
}

/** Some points and some faults: quick enough for each push. */
export function planReduced(seed: number): Batch[] {
  const isQuick = (label: string, index: number, all: string[]) => isQuickLabel(label) && all.indexOf(label) === index;
  return planRound(seededRandom(seed), 1)
    .filter(({ subject, point }) => quickPointsOf(subject).includes(point))
    .map((batch) => ({ ...batch, labels: batch.labels.filter(isQuick) }));
}

function quickPointsOf(subject: string): readonly string[] {
  if (subject === "create") return quickPoints;
  if (paidSubjects.includes(subject)) return quickPaidPoints;
  const index = subjects.findIndex(({ id }) => id === subject) % quickChangePoints.length;
  return quickChangePoints.slice(index, index + 1);
}

const isQuickLabel = (label: string) =>
  quickLabels.includes(label) ||
  quickChangeFaults.some((fault) => label.startsWith("of-") && label.endsWith(`-${fault}-`));

function planRound(draw: (limit: number) => number, round: number): Batch[] {
  return subjects.flatMap((subject) => planSubject(draw, round, subject));
}

function planSubject(draw: (limit: number) => number, round: number, subject: Subject): Batch[] {
  const { faults, points: killPoints } = subject;
  const all = faults.map(({ label }) => label);
  const labelsAt = (point: KillPoint) => faults.filter((fault) => canReach(point, fault)).map(({ label }) => label);
  const points = [
    ...killPoints.map((point) => ({
      id: point.id,
      labels: Array.from({ length: point.reach === "message" ? messagesPerLabel : 1 }, () => labelsAt(point)).flat(),
    })),
    ...drawnPoints.map(({ id }) => ({ id, labels: all })),
  ];
  const prefix = subject.kind ? `${subject.id}:` : "";
  return points.map(({ id, labels }) => ({
    id: `${prefix}${id}.${round}`,
    subject: subject.id,
    point: id,
    seed: draw(seedMax),
    labels: shuffle(labels, draw),
  }));
}

function shuffle<T>(list: readonly T[], draw: (limit: number) => number): T[] {
  const shuffled = [...list];
  for (let index = shuffled.length - 1; index > 0; index--) {
    const other = draw(index + 1);
    [shuffled[index], shuffled[other]] = [shuffled[other]!, shuffled[index]!];
  }
  return shuffled;
}
