/** SQL that wakes the owner of a registry's sessions, because rows of a machine are due (src/progress/engine.ts). */
import { rowDueChannel } from "#progress/engine.ts";

/** Orders of different lanes do not wait for each other. The column `lane` of `orders` says which one an order is in. */
export type Lane = "registration" | "urgent" | "value" | "schedule";

/** The name of a registry's machine, in notifications and logs. */
export const machineName = (machine: Lane | "renewal", registryId: string) => `${machine}:${registryId}`;

/** SQL that wakes one machine of a registry. @param machine SQL @param registryId SQL */
export const wake = (machine: string, registryId: string) =>
  `pg_notify('${rowDueChannel}', ${machine} || ':' || ${registryId})`;

/** SQL that wakes the machines of changed orders, and returns their number. @param rows SQL: a table with lane and registry_id */
export const wakeAll = (rows: string) =>
  `SELECT count(${wake("lane", "registry_id")}) AS notified FROM (SELECT DISTINCT lane, registry_id FROM ${rows}) AS changed`;
