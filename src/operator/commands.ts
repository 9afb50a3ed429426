/** The operator's commands. They work on the database, not through the API. */
import type { Command } from "commander";
import { addAccountCommands } from "#operator/accounts.ts";
import { addAlarmCommands } from "#operator/alarms.ts";
import { addHostNameCommands } from "#operator/hosting/host-names.ts";
import { addHostingCommands } from "#operator/hosting/hosting.ts";
import { addMoveCommands } from "#operator/hosting/moves.ts";
import { addPackCommands } from "#operator/hosting/packs.ts";
import { addHostingRetryCommand } from "#operator/hosting/retry.ts";
import { addMessageCommands } from "#operator/messages.ts";
import { addMigrateCommand } from "#operator/migrate.ts";
import { addNameCommands } from "#operator/names.ts";
import { addNodeInstallCommand } from "#operator/nodes/install.ts";
import { addNodeCommands } from "#operator/nodes/nodes.ts";
import { addOrderCommands } from "#operator/orders.ts";
import { addOteCommand } from "#operator/ote/ote.ts";
import { addRegistryPasswordCommand } from "#operator/registries/password.ts";
import { addRegistryProbeCommand } from "#operator/registries/probe.ts";
import { addRegistryCommands } from "#operator/registries/registries.ts";
import { addRenewalCommands } from "#operator/renewals.ts";

export function addOperatorCommands(program: Command): void {
  addAccountCommands(program);
  addPackCommands(program);
  addHostingCommands(program);
  addHostNameCommands(program);
  addHostingRetryCommand(program);
  addNodeCommands(program);
  addMoveCommands(program);
  addNodeInstallCommand(program);
  addNameCommands(program);
  addOrderCommands(program);
  addRegistryCommands(program);
  addRegistryProbeCommand(program);
  addRegistryPasswordCommand(program);
  addOteCommand(program);
  addRenewalCommands(program);
  addMessageCommands(program);
  addAlarmCommands(program);
  addMigrateCommand(program);
}
