import type { Command } from "commander";
import { createPack, retirePack } from "#hosting/manage-packs.ts";
import { printableName, wholeNumber } from "#operator/arguments.ts";
import { commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { getReseller } from "#resellers/create.ts";
import { OperatorError } from "#resellers/operator-error.ts";

const megabyte = 1_000_000;

interface PackOptions {
  diskMb: number;
  files: number;
  ftpSessions: number;
  offerTo?: string[];
}

export function addPackCommands(program: Command): void {
  const packs = commandGroup(program, "packs", "service packs");
  operatorCommand(packs, "create", "offer a new service pack")
    .argument("<name>", "what resellers see", printableName)
    .requiredOption("--disk-mb <n>", "disk quota", wholeNumber(1, 1_000_000_000))
    .option("--files <n>", "files and folders at the most", wholeNumber(1, 100_000_000), 50_000)
    .option("--ftp-sessions <n>", "FTP sessions at the same time", wholeNumber(1, 1_000), 8)
    .option("--offer-to <account...>", "only to these accounts; to all when left out")
    .addHelpText("after", "\nExample:\n  deedhouse packs create Starter --disk-mb 500")
    .action(
      onDatabase(async (context, name: string, { diskMb, files, ftpSessions, offerTo }: PackOptions) => {
        const offeredTo = offerTo && (await Promise.all(offerTo.map((account) => getReseller(context, account))));
        const limits = { diskBytesMax: diskMb * megabyte, filesMax: files, ftpSessionsMax: ftpSessions };
        return { id: await createPack(context, { name, ...limits, offeredTo }), name };
      }),
    );
  operatorCommand(packs, "retire <id>", "offer a service pack no more; accounts that have it keep it")
    .addHelpText("after", "\nExample:\n  deedhouse packs retire 14490")
    .action(
      onDatabase(async (context, id: string) => {
        const isRetired = /^[0-9]{1,15}$/.test(id) && (await retirePack(context, Number(id)));
        if (!isRetired) {
          const advice = "deedhouse packs list shows those that are";
          throw new OperatorError("not-found", `no service pack ${id} is on offer: ${advice}`);
        }
        return { id, status: "retired" };
      }),
    );
}
