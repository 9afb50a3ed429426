import type { Attack } from "../attack.ts";
import { holdFromFourAddresses } from "../silent-connections.ts";

const sessionsPerAddress = 200;

export const attack: Attack = {
  name: "silent-ftp",
  about: `${sessionsPerAddress} FTP sessions from each of four addresses that say nothing, opened again whenever they are closed`,
  victim: "ftp-login",
  run: ({ ftp }, signal) => holdFromFourAddresses(ftp, sessionsPerAddress, signal),
};
