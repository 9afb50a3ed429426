/**
 * What happens in a process, for the metrics. Code says in one line what it did, or how much there is of what it has, and does not
 * know who counts. While nothing counts, a line costs a comparison.
 */
import { channel } from "node:diagnostics_channel";
import type { LabelsOf, LookedName, MeasuredName } from "#lib/measure/metrics-table.ts";

export interface Measured {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const happened = channel("deedhouse.measured");

/** Whether anything counts: for what costs more than its line. */
export const isMeasured = (): boolean => happened.hasSubscribers;

/** @param value how much to count, or the seconds that it took */
export function measure<Name extends MeasuredName>(name: Name, labels: LabelsOf<Name>, value = 1): void {
  if (happened.hasSubscribers) happened.publish({ name, labels, value } satisfies Measured);
}

/** @returns ends it */
export function onMeasured(handle: (measured: Measured) => void): () => void {
  const subscriber = handle as (message: unknown) => void;
  happened.subscribe(subscriber);
  return () => {
    happened.unsubscribe(subscriber);
  };
}

/** Each value with its labels. */
export type Look<Name extends LookedName> = () => Iterable<readonly [labels: LabelsOf<Name>, value: number]>;

const looks = new Map<object, { name: LookedName; look: Look<LookedName> }>();

/** Adds to the values of a metric whenever somebody asks. @returns ends it */
export function showing<Name extends LookedName>(name: Name, look: Look<Name>): () => void {
  looks.set(look, { name, look: look as Look<LookedName> });
  return () => {
    looks.delete(look);
  };
}

/** Everything that is shown now. */
export function lookAtAll(): Measured[] {
  return [...looks.values()].flatMap(({ name, look }) =>
    [...look()].map(([labels, value]) => ({ name, labels, value })),
  );
}

export const secondsSince = (beganAtMs: number): number => (performance.now() - beganAtMs) / 1_000;
