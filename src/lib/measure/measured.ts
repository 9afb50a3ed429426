/**
 * What happens in a process, for the metrics that count it. Code publishes what it did, and does not know who counts. While nothing
 * counts, this costs a comparison.
 */
import { type Channel, channel } from "node:diagnostics_channel";

export interface MeasuredStep {
  machine: string;
  outcome: "done" | "failed" | "lost";
  seconds: number;
}

export interface MeasuredRequest {
  door: string;
  /** The pattern of its path; `none` when nothing is there. */
  route: string;
  method: string;
  status: number;
  seconds: number;
}

export interface MeasuredMessage {
  channel: string;
  outcome: "sent" | "failed";
}

const typed = <Message>(name: string) => channel(`deedhouse.${name}`) as Channel<unknown, Message>;

export const measured = {
  step: typed<MeasuredStep>("step"),
  request: typed<MeasuredRequest>("request"),
  alarmMessage: typed<MeasuredMessage>("alarm-message"),
} as const;
