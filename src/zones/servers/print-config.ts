/** The whole configuration of a name server that takes its zones from here. */
import { isIPv6 } from "node:net";
import type { TsigKey } from "#dns/tsig.ts";

export interface ConfiguredServer {
  /** Of the name server, where it listens. */
  address: string;
  port: number;
  /** Where role `dns` is. */
  gateway: { address: string; port: number };
  /** The newest first: the server signs with that one. */
  keys: readonly TsigKey[];
  catalog: string;
  /** Where it keeps zones. */
  directory: string;
}

const plainName = ({ name }: TsigKey) => name.slice(0, -1);
const secretOf = ({ secret }: TsigKey) => secret.toString("base64");

/** knot.conf, for Knot DNS 3.2 or later. */
export function knotConfig({ address, port, gateway, keys, catalog, directory }: ConfiguredServer): string {
  const names = keys.map(plainName).join(", ");
  const printed = keys.map(
    (key) => `  - id: ${plainName(key)}\n    algorithm: ${key.algorithm}\n    secret: ${secretOf(key)}\n`,
  );
  return `# Zones come from the gateway, by the catalog at the end.
server:
    listen: ${address}@${port}
    automatic-acl: off

log:
  - target: syslog
    any: info

database:
    storage: ${directory}

key:
${printed.join("")}
remote:
  - id: gateway
    address: ${gateway.address}@${gateway.port}
    key: ${plainName(keys[0]!)}

acl:
  - id: gateway
    key: [${names}]
    action: [notify, transfer]

template:
  - id: default
    storage: ${directory}
    master: gateway
    acl: gateway
    retry-max-interval: 60

zone:
  - domain: ${catalog}
    catalog-role: interpret
    catalog-template: default
`;
}

/** named.conf, for BIND 9.18 or later. */
export function bindConfig({ address, port, gateway, keys, catalog, directory }: ConfiguredServer): string {
  const printed = keys.map(
    (key) => `key "${plainName(key)}" { algorithm ${key.algorithm}; secret "${secretOf(key)}"; };\n`,
  );
  const allowed = keys.map((key) => `key "${plainName(key)}";`).join(" ");
  const primary = `${gateway.address} port ${gateway.port} key "${plainName(keys[0]!)}";`;
  const [own, other] = isIPv6(address) ? ["listen-on-v6", "listen-on"] : ["listen-on", "listen-on-v6"];
  return `// Zones come from the gateway, by the catalog at the end.
${printed.join("")}
options {
    directory "${directory}";
    ${own} port ${port} { ${address}; };
    ${other} { none; };
    recursion no;
    notify no;
    allow-transfer { ${allowed} };
    allow-notify { ${allowed} };
    max-retry-time 60;
    min-retry-time 1;
    catalog-zones {
        zone "${catalog}"
            default-primaries { ${primary} }
            zone-directory "${directory}"
            in-memory no
            min-update-interval 1;
    };
};

zone "${catalog}" {
    type secondary;
    file "${directory}/deedhouse.catalog";
    primaries { ${primary} };
};
`;
}
