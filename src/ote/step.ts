/** A step of the walk, as data. */

import { type Memory, serversOf, type Who } from "#ote/memory.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** What a registry, or the operator, must have for a step. */
export interface Needs {
  readonly dataModel?: "thick";
  readonly hostModel?: "objects";
  /** A namespace. */
  readonly extensionURI?: string;
  readonly contactTypes?: true;
  readonly second?: true;
  readonly other?: true;
  readonly passwordChange?: true;
}

/** Something that exists at the registry because of us, and how to be rid of it. */
export interface Thing {
  /** "domain a.example": there is one of each. */
  readonly what: string;
  readonly undo: EppCommand<unknown>;
  readonly by?: Who;
  /** The `what` of the thing that it is gone with. */
  readonly partOf?: string;
}

interface StepBase {
  readonly id: string;
  readonly title: string;
  /** Where what is sent is defined. */
  readonly rfc: string;
  readonly needs?: Needs;
  /** Steps whose things it works with: when one of them failed, it is not run. */
  readonly buildsOn?: readonly string[];
  /** Any of these result codes is right. */
  readonly expected: readonly number[];
}

/** What only a session can do; `logout` comes after all is cleaned up. */
export interface SessionStep extends StepBase {
  readonly session: "login" | "hello" | "password-change" | "logout";
}

export interface CommandStep<Data = unknown> extends StepBase {
  readonly session?: undefined;
  /** Who sends it; the main account if absent. */
  readonly by?: (memory: Memory) => Who;
  /** Why it makes no sense now, if it does not. */
  readonly whyNot?: (memory: Memory) => string | undefined;
  readonly command: (memory: Memory) => EppCommand<Data>;
  /** A further command after a success, until there is none. */
  readonly next?: (memory: Memory, response: EppResponse<Data>) => EppCommand<Data> | undefined;
  readonly remember?: (memory: Memory, response: EppResponse<Data>) => void;
  /** What is wrong with a success's data, if anything is. */
  readonly judge?: (data: Data, memory: Memory) => string | undefined;
  readonly makes?: (memory: Memory) => Thing | undefined;
  /** The `what` of what it takes away. */
  readonly unmakes?: (memory: Memory) => string;
}

export type Step = SessionStep | CommandStep;

/** A step of the table: the table itself need not know what data each brings. */
export function step<Data>(form: CommandStep<Data>): Step {
  return form as CommandStep<unknown>;
}

/** It is done, or will be. */
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

/** @param by who has set it */
export function statusThing(name: string, status: string, by: Who = "main"): Thing {
  const undo = domainUpdate({ name, remove: { statuses: [status] } });
  return { what: `${status} of ${name}`, undo, by, partOf: domainThing(name).what };
}

export function serversThing(memory: Memory, name: string, hosts: readonly string[]): Thing {
  const undo = domainUpdate({ name, remove: { nameServers: serversOf(memory, hosts) } });
  return { what: `name servers of ${name}`, undo, partOf: domainThing(name).what };
}
