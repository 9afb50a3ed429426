import { accessCommands } from "#nodes/embedded/ftp/access-commands.ts";
import { fileCommands } from "#nodes/embedded/ftp/file-commands.ts";
import type { FtpSession } from "#nodes/embedded/ftp/session.ts";
import { transferCommands } from "#nodes/embedded/ftp/transfer-commands.ts";

export interface FtpCommand {
  needsLogin: boolean;
  /** Sends the reply. @throws FtpFailure for a refusal */
  run(session: FtpSession, argument: string): void | Promise<void>;
}

/**
 * All commands of the server. Others get 502, deliberately including PORT and EPRT (the server opens no connections), APPE
 * and REST (an upload is whole or not at all), SITE, MFF and MFMT (no modes, owners or times).
 */
const commands = new Map<string, FtpCommand>(
  Object.entries({ ...accessCommands, ...fileCommands, ...transferCommands }),
);

/** @param verb in upper case */
export function findCommand(verb: string): FtpCommand | undefined {
  return commands.get(verb);
}
