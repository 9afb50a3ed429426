/** Plans the batches and their order, from the seed alone. */
import { seededRandom } from "../harness/seeded-random.ts";
import type { Batch } from "./batch.ts";
import { canReach, drawnPoints, type KillPoint, killPoints } from "./kill-points.ts";
import { allFaults } from "./labels.ts";

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

/** Rounds over all points, each with every fault that can reach the point, shuffled. */
export function planWhole(seed: number, rounds: number): Batch[] {
  const draw = seededRandom(seed);
  return Array.from({ length: rounds }, (_, index) => planRound(draw, index + 1)).flat();
}

/** Some points and some faults: quick enough for each push. */
export function planReduced(seed: number): Batch[] {
  const isQuick = (label: string, index: number, all: string[]) =>
    quickLabels.includes(label) && all.indexOf(label) === index;
  return planRound(seededRandom(seed), 1)
    .filter(({ point }) => quickPoints.includes(point))
    .map((batch) => ({ ...batch, labels: batch.labels.filter(isQuick) }));
}

function planRound(draw: (limit: number) => number, round: number): Batch[] {
  const all = allFaults.map(({ label }) => label);
  const labelsAt = (point: KillPoint) => allFaults.filter((fault) => canReach(point, fault)).map(({ label }) => label);
  const points = [
    ...killPoints.map((point) => ({
      id: point.id,
      labels: Array.from({ length: point.reach === "message" ? messagesPerLabel : 1 }, () => labelsAt(point)).flat(),
    })),
    ...drawnPoints.map(({ id }) => ({ id, labels: all })),
  ];
  return points.map(({ id, labels }) => ({
    ...{ id: `${id}.${round}`, point: id, seed: draw(seedMax), labels: shuffle(labels, draw) },
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
