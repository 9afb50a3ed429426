import type { Attack } from "../attack.ts";
import { holdFromFourAddresses } from "../silent-connections.ts";

const connectionsPerAddress = 250;

export const attack: Attack = {
  name: "site-connections",
  about: `${connectionsPerAddress} connections to the sites from each of four addresses that ask for nothing, opened again whenever they are closed`,
  victim: "site-read",
  run: ({ web }, signal) => holdFromFourAddresses(web, connectionsPerAddress, signal),
};
