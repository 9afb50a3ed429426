/** The sites of hosting accounts, as /v2 shows them. */
import { isIP } from "node:net";
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { type AccountDetails, accountReader, accountsLister } from "#hosting/accounts/read.ts";
import { ftpUsername } from "#hosting/nodes/nodes.ts";
import { textLike } from "#use-case/docs.ts";

const bytesPerMegabyte = 1_000_000;

const packId = Type.Integer({ minimum: 1, examples: [14_490] });
const briefShape = Type.Object(
  { domain_name: textLike("hello.example"), servicepack_id: packId },
  { title: "LinuxHostingInBrief" },
);

/** GET /v2/linuxhostings */
export const listLinuxHostings = accountsLister("listLinuxHostings", "/linuxhostings", briefShape, (_, row) => ({
  domain_name: row.identifier!,
  servicepack_id: row.servicepack_id!,
}));

const megabytes = Type.Integer({ minimum: 0, description: "In MB (1,000,000 bytes).", examples: [100] });
const no = Type.Literal(false);
const siteShape = Type.Object({
  name: textLike("hello.example"),
  path: textLike("/www"),
  host_headers: Type.Array(Type.Object({ name: textLike("hello.example"), enabled: Type.Literal(true) })),
  ssl_enabled: Type.Boolean({ examples: [false] }),
  https_redirect_enabled: no,
  http2_enabled: no,
});
const nothing = Type.String({ maxLength: 0, description: "Empty: it does not exist here.", examples: [""] });

const hostingShape = Type.Object(
  {
    ...briefShape.properties,
    max_size: megabytes,
    actual_size: megabytes,
    max_webspace_size: megabytes,
    webspace_usage: megabytes,
    ip: Type.String({ description: "Empty while there is no server with an address.", examples: ["192.0.2.10"] }),
    ip_type: Type.Literal("shared"),
    ftp_enabled: Type.Boolean({ examples: [true] }),
    ftp_username: textLike("hello.example"),
    ssh_host: nothing,
    ssh_username: nothing,
    php_version: nothing,
    sites: Type.Array(siteShape),
    mysql_database_names: Type.Array(Type.String(), { maxItems: 0, examples: [[]] }),
  },
  { title: "LinuxHosting" },
);

/** GET /v2/linuxhostings/<identifier>: clients expect every field, and texts and numbers where there is nothing. */
export const readLinuxHosting = accountReader("readLinuxHosting", hostingShape, presentHosting);

function presentHosting(context: Context, account: AccountDetails): Static<typeof hostingShape> {
  const { identifier, servicepack_id, node_kind, web_host } = account;
  const allowed = Math.floor(account.disk_quota_bytes / bytesPerMegabyte);
  const used = Math.ceil(account.disk_used_bytes / bytesPerMegabyte);
  return {
    domain_name: identifier,
    servicepack_id,
    max_size: allowed,
    actual_size: used,
    max_webspace_size: allowed,
    webspace_usage: used,
    ip: web_host !== null && isIP(web_host) ? web_host : "",
    ip_type: "shared",
    ftp_enabled: account.ftp_is_open ?? false,
    ftp_username: ftpUsername(node_kind, identifier, context.siteDomain),
    ssh_host: "",
    ssh_username: "",
    php_version: "",
    sites: [presentSite(context, account)],
    mysql_database_names: [],
  };
}

/** An account has one site. */
function presentSite(
  { siteDomain }: Context,
  { identifier, host_names, web_is_https }: AccountDetails,
): Static<typeof siteShape> {
  const names = [`${identifier}.${siteDomain}`, ...host_names];
  return {
    name: identifier,
    path: "/www",
    host_headers: names.map((name) => ({ name, enabled: true as const })),
    ssl_enabled: web_is_https ?? false,
    https_redirect_enabled: false,
    http2_enabled: false,
  };
}
