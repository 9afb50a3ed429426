import type { EppCommand } from "#registry/epp/command.ts";

/** How one registry speaks EPP: what it adds to the commands of the RFCs, and to their answers. */
export interface Dialect {
  /**
   * The command as this registry takes it, and reads it.
   * @param extensionURIs the namespaces of the extensions that the session's login asked for
   */
  adapt<Data>(command: EppCommand<Data>, extensionURIs: readonly string[]): EppCommand<Data>;
}
