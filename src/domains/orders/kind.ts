/**
 * A kind of order. It compares what was ordered with what the registry shows, and chooses the next command. All kinds share the rest:
 * each command is chosen by a fresh lookup, and an order is done when nothing is left to do (docs/states.md).
 */
import type { AttemptResult, KindName, Order, OrderEnd, Outcome } from "#domains/orders/order.ts";
import type { Meaning } from "#domains/orders/result-codes.ts";
import type { Ask, NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { SessionPurpose } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** What is left to do. */
export type Plan =
  /** The registry shows what was ordered. */
  | { is: "done"; end?: OrderEnd; reason?: string; after?: Outcome["after"] }
  /** The name that it registered is deleted again, as the operator wanted. */
  | { is: "deleted" }
  /** The registry has not decided yet. */
  | { is: "pending" }
  /**
   * @param found what later steps need to know; written before the command is sent
   * @param isNext it is not the last command once more, although it has the same name
   */
  | { is: "send"; command: EppCommand<unknown> | Making; found?: object; isNext?: boolean }
  /**
   * Something else comes first, and sends at most one command of its own. Its success is the event `prepared`.
   * @param giveUp after a lost answer, once the command was certainly not executed or its effect cannot be found
   */
  | { is: "prepare"; prepare(): Promise<Outcome>; giveUp(): Promise<void> }
  /** Not yet. @param reason why, for people, if something has changed */
  | { is: "wait"; until: Date; reason?: string; holds?: Outcome["holds"] }
  /** It cannot be done: `rejected` because of what was ordered, `failed` because of what the registry shows. */
  | { is: "refused"; as: "rejected" | "failed"; reason: string; operatorNote?: string | undefined }
  /** It cannot be done until an operator has helped: meanwhile others about the name may pass. */
  | { is: "held"; reason: string; operatorNote: string }
  /** The registry did not show enough: ask again. @param operatorNote only a person can find out more */
  | { is: "unknown"; reason: string; operatorNote?: string | undefined; nextStepAt?: Date | undefined };

/** A command that others must precede, or a question about its price: `make` sends them. */
export interface Making {
  name: string;
  make(): Promise<EppCommand<unknown> | { instead: Exclude<Plan, { is: "send" | "prepare" }> }>;
}

/** What an order's `found` has of the price that its last command that costs money agreed to. */
export interface FoundFee {
  fee?: Money | undefined;
}

/** The registry's answer to a command of an order. */
export interface Answer {
  /** The name of the command. */
  command: string;
  meaning: Meaning;
  attempt: AttemptResult;
  response: EppResponse<unknown>;
  /** What the registry said, for people. */
  reason: string;
}

export interface OrderKind {
  name: KindName;
  /** Goes before orders that only set a value, and is never replaced by a newer one. */
  isUrgent: boolean;
  /** Its name is in no portfolio yet, so no other order about it can be in the way. */
  needsNoTurn?: true;
  /** Costs money: an account may place a limited number of them in a day. */
  isPaid?: true;
  /** Each of its orders is carried out: a newer one does not replace one that was not sent yet. */
  isEachDone?: true;
  /** Each field of its input is a value of its own: what a newer order leaves out is still wanted. */
  isByField?: true;
  /** Its commands about hosts and contacts may be repeated at any time, so a lost one is not in the way of the next command. */
  mayRepeatPreparation?: true;
  /** What info shows while a command of this kind is pending (1001; RFC 5731 §2.3); a kind without one is never pending. */
  pendingStatus?: string;
  /** What its commands and lookups acquire sessions for, where that is not the usual purpose. */
  purposes?: { command: SessionPurpose; lookup: SessionPurpose };
  /** Returns what its start writes, if it does not continue at once, or why it cannot start yet. */
  start?(sessions: RegistrySessions, order: Order): Promise<Outcome | undefined>;
  /** What is left to do, if that can be known without an `<info>`. */
  planFirst?(sessions: RegistrySessions, order: Order): Promise<Plan | undefined>;
  /** What is left to do, from a fresh `<info>`. @param ask for what `<info>` about the name does not show */
  plan(sessions: RegistrySessions, order: Order, name: NameInfo, ask: Ask): Plan | Promise<Plan>;
  /** Whether to commit an attempt before it waits for a session, so that no session idles during the commit. */
  beginsFirst?(order: Order): boolean;
  /** What a code means, where that depends on the order. */
  meaning?(code: number, order: Order): Meaning | undefined;
  /** What follows from an answer, where that is not the usual. It may also just note something for its next plan. */
  answered?(sessions: RegistrySessions, order: Order, answer: Answer): Promise<Outcome | undefined>;
  /** A lost command was certainly not executed. Returns why it must not be repeated yet. */
  notExecuted?(sessions: RegistrySessions, order: Order): Promise<Outcome | undefined>;
  /** What becomes of a refusal, where the order does something else before it ends. @param command that the registry has refused */
  refused?(order: Order, refusal: Outcome, command?: string): Outcome;
  /** Compares an operator's settlement with what the registry shows, where that is not the usual way. */
  settled?(sessions: RegistrySessions, order: Order, name: NameInfo): Promise<Outcome | { refusal: string }>;
  /**
   * What ends with an order that an operator settles as done, although the registry does not show it. An urgent kind without it
   * cannot be settled like this: the name would be where it is not.
   */
  settledEnd?(order: Order): OrderEnd;
}

export type OrderKinds = Readonly<Record<KindName, OrderKind>>;

/** A plan for a name that we hold; without it the order fails. */
export function whileHeld(
  plan: (sessions: RegistrySessions, order: Order, info: DomainInfo, ask: Ask) => Plan | Promise<Plan>,
): OrderKind["plan"] {
  return (sessions, order, name, ask) => {
    switch (name.is) {
      case "unknown":
        return name;
      case "absent":
        return { is: "refused", as: "failed", reason: "the registry no longer holds the name" };
      case "held-by-other":
        return { is: "refused", as: "failed", reason: "another registrar holds the name now" };
      case "held-by-us":
        return plan(sessions, order, name.info, ask);
    }
  };
}

/**
 * Refuses a command that statuses forbid (RFC 5731 §2.3). None of them is removed that we did not set.
 * @param refusal e.g. "does not renew"
 */
export function refusedByStatus(
  { statuses }: DomainInfo,
  forbidding: readonly string[],
  refusal: string,
): Extract<Plan, { is: "refused" }> | undefined {
  const found = statuses.filter((status) => forbidding.includes(status));
  if (found.length === 0) return undefined;
  return { is: "refused", as: "failed", reason: `the registry ${refusal} the name: it shows ${found.join(", ")}` };
}
