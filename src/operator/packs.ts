import type { Command } from "commander";
import { createPack, retirePack } from "#hosting/manage-packs.ts";
import { commandGroup, type OperatorOptions, operatorCommand, print } from "#operator/commands.ts";
import { openOperatorContext } from "#operator/context.ts";
import { wholeNumber } from "#operator/numbers.ts";
import { getReseller } from "#resellers/create.ts";

const megabyte = 1_000_000;

interface PackOptions extends OperatorOptions {
  diskMb: number;
  files: number;
  ftpSessions: number;
  offerTo?: string[];
}

export function addPackCommands(program: Command): void {
  const packs = commandGroup(program, "packs", "service packs");
  operatorCommand(packs, "create <name>", "offer a new service pack")
    .requiredOption("--disk-mb <n>", "disk quota", wholeNumber(1, 1_000_000_000))
    .option("--files <n>", "files and folders at the most", wholeNumber(1, 100_000_000), 50_000)
    .option("--ftp-sessions <n>", "FTP sessions at the same time", wholeNumber(1, 1_000), 8)
    .option("--offer-to <account...>", "only to these accounts; to all when left out")
    .addHelpText("after", "\nExample:\n  deedhouse packs create Starter --disk-mb 500")
    .action(async (name: string, options: PackOptions) => {
      await using context = openOperatorContext(options.data);
      const offeredTo =
        options.offerTo && (await Promise.all(options.offerTo.map((each) => getReseller(context, each))));
      const limits = { filesMax: options.files, ftpSessionsMax: options.ftpSessions };
      const id = await createPack(context, { name, diskBytesMax: options.diskMb * megabyte, ...limits, offeredTo });
      print(options, { id, name });
    });
  operatorCommand(packs, "retire <id>", "offer a service pack no more; accounts that have it keep it")
    .addHelpText("after", "\nExample:\n  deedhouse packs retire 14490")
    .action(async (id: string, options: OperatorOptions) => {
      await using context = openOperatorContext(options.data);
      const isRetired = /^[0-9]{1,15}$/.test(id) && (await retirePack(context, Number(id)));
      if (!isRetired) throw new Error(`no service pack ${id} is on offer: deedhouse packs list shows those that are`);
      print(options, { id, status: "retired" });
    });
}
