/** A step of the test, as data. */

import { type ContactType, type Memory, serversOf, type Who } from "#ote/memory.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** What a registry or the operator must provide for a step. */
export interface Needs {
  readonly dataModel?: "thick";
  readonly hostModel?: "objects";
  /** A namespace. */
  readonly extensionURI?: string;
  readonly contactTypes?: true;
  /** A contact has one role, and names have a contact of this type. */
  readonly ownContactOf?: ContactType | "any";
  /** We choose the ids of contacts. */
  readonly ownIds?: true;
  readonly registrantChange?: true;
  /** A command that some families do not have: `EppCommand.name`, of a transfer without its operation. */
  readonly command?: string;
  /** A status that a registrar may set. */
  readonly status?: string;
  readonly renew?: true;
  /** Commands give periods in years. */
  readonly years?: true;
  /** The authInfo of names is ours, or the registry issues it. */
  readonly authInfo?: "ours" | "issued";
  readonly second?: true;
  readonly other?: true;
  readonly passwordChange?: true;
}

/** An object that we created at the registry, and how to remove it. */
export interface Thing {
  /** "domain a.example": unique. */
  readonly what: string;
  /** Absent: only the registry knows its id. */
  readonly undo?: EppCommand<unknown>;
  readonly by?: Who;
  /** The `what` of the object that it disappears with. */
  readonly partOf?: string;
}

interface StepBase {
  readonly id: string;
  readonly title: string;
  /** The section that defines its frames. */
  readonly rfc: string;
  readonly needs?: Needs;
  /** Steps that create the objects it needs: when one of them failed, this step is skipped. */
  readonly buildsOn?: readonly string[];
  /** Any of these result codes is correct. */
  readonly expected: readonly number[];
}

/** Steps that only a session can do; `logout` runs after the clean-up. */
export interface SessionStep extends StepBase {
  readonly session: "login" | "hello" | "password-change" | "logout";
}

export interface CommandStep<Data = unknown> extends StepBase {
  readonly session?: undefined;
  /** The account that sends it; by default the main account. */
  readonly by?: (memory: Memory) => Who;
  /** Why the step makes no sense now, if it does not. */
  readonly whyNot?: (memory: Memory) => string | undefined;
  readonly command: (memory: Memory) => EppCommand<Data>;
  /** A further command after a success; undefined at the end. */
  readonly next?: (memory: Memory, response: EppResponse<Data>) => EppCommand<Data> | undefined;
  readonly remember?: (memory: Memory, response: EppResponse<Data>) => void;
  /** What is wrong with the data of a successful answer, if anything. */
  readonly judge?: (data: Data, memory: Memory) => string | undefined;
  /** @param data of the answer; undefined before there is one */
  readonly makes?: (memory: Memory, data?: Data) => Thing | undefined;
  /** The `what` of the object that it removes. */
  readonly unmakes?: (memory: Memory) => string;
}

export type Step = SessionStep | CommandStep;

/** A step of the table, which does not need to know the type of each step's data. */
export function step<Data>(form: CommandStep<Data>): Step {
  return form as CommandStep<unknown>;
}

/** The command has been or will be carried out. */
export const doneCodes = [1000, 1001];

export function domainThing(name: string): Thing {
  return { what: `domain ${name}`, undo: domainDelete(name) };
}

export function hostThing(name: string): Thing {
  return { what: `host ${name}`, undo: hostDelete(name) };
}

export function contactThing(id: string): Thing {
  return { what: `contact ${id}`, undo: contactDelete(id) };
}

/** A contact whose id the registry chose, in an answer that has not arrived. */
export function namelessContactThing(askedId: string): Thing {
  return { what: `contact that was to be ${askedId}` };
}

/** @param by the account that has set it */
export function statusThing(name: string, status: string, by: Who = "main"): Thing {
  const undo = domainUpdate({ name, remove: { statuses: [status] } });
  return { what: `${status} of ${name}`, undo, by, partOf: domainThing(name).what };
}

/** @param by the account that has added them */
export function serversThing(memory: Memory, name: string, hosts: readonly string[], by: Who = "main"): Thing {
  const undo = domainUpdate({ name, remove: { nameServers: serversOf(memory, hosts) } });
  return { what: `name servers of ${name}`, undo, by, partOf: domainThing(name).what };
}
