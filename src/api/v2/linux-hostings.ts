/** The sites of hosting accounts, as /v2 shows them. */
import { isIP } from "node:net";
import type { Context } from "#context.ts";
import { type AccountDetails, accountReader, accountsLister } from "#hosting/accounts/read.ts";
import { ftpUsername } from "#hosting/nodes/nodes.ts";

const bytesPerMegabyte = 1_000_000;

/** GET /v2/linuxhostings */
export const listLinuxHostings = accountsLister("/linuxhostings", (_, { identifier, servicepack_id }) => ({
  domain_name: identifier,
  servicepack_id,
}));

/** GET /v2/linuxhostings/<identifier>: clients expect every field, and texts and numbers where there is nothing. */
export const readLinuxHosting = accountReader(presentHosting);

function presentHosting(context: Context, account: AccountDetails) {
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
function presentSite({ siteDomain }: Context, { identifier, host_names, web_is_https }: AccountDetails) {
  const names = [`${identifier}.${siteDomain}`, ...host_names];
  return {
    name: identifier,
    path: "/www",
    host_headers: names.map((name) => ({ name, enabled: true })),
    ssl_enabled: web_is_https ?? false,
    https_redirect_enabled: false,
    http2_enabled: false,
  };
}
