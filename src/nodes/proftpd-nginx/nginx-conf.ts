/** nginx's configuration. Its behaviour was tested with nginx 1.22.1 of Debian 12. */
import { noSiteText } from "#nodes/probe.ts";
import { nodePaths, type ProftpdNodeSettings, suspendedMarker } from "#nodes/proftpd-nginx/settings.ts";

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const hostName = `${label}(\\.${label})*`;

/** The text of nginx.conf. It is independent of accounts: a site is a link, and a suspension is a file. */
export function renderNginxConf(settings: ProftpdNodeSettings): string {
  const { web, limits } = settings;
  const paths = nodePaths(settings);
  return `# Written by deedhouse: changes are overwritten.
user ${web.user};
worker_processes auto;
pid ${paths.webPid};
error_log ${paths.webErrors} error;
events { worker_connections ${limits.webConnectionsMax}; }
http {
  include ${web.mimeTypesFile};
  server_tokens off;
  sendfile on;
  log_not_found off;
  client_header_timeout ${limits.requestHeaderSecondsMax};
  send_timeout ${limits.stalledSecondsMax};
  client_max_body_size 1k;
  # A subscriber has a whole /64 of IPv6. nginx abbreviates the longest run of zeros in an address.
  map $remote_addr $source {
    default $binary_remote_addr;
    "~^(?<network>([0-9a-f]+:){4})" $network;
    "~^(?<network>([0-9a-f]+:){1,3}):" $network;
  }
  limit_conn_zone $source zone=addresses:10m;
  limit_conn addresses ${limits.addressRequestsMax};
  limit_conn_status 429;
  # The real path contains the account's uid, whatever host name was requested.
  log_format traffic '$msec $bytes_sent $realpath_root';
  map $host $site {
    default "";
    "~^${hostName}$" ${paths.sites}/$host;
  }
${certificateMap(settings)}  server {
    listen ${endpoint(web.address, web.port)} default_server;
${tlsLines(settings)}    server_name _;
    root $site/www;
    default_type text/plain;
    add_header X-Content-Type-Options nosniff always;
    access_log ${paths.webTraffic} traffic buffer=32k flush=${limits.webLogFlushMs}ms if=$counted;
    error_page 403 404 =404 @missing;
    set $counted "";
    if ($site = "") { return 404 "${noSiteText}\\n"; }
    if (!-d $site/www) { return 404 "${noSiteText}\\n"; }
    set $counted 1;
    if (-f $site/${suspendedMarker}) { return 503 "This site is suspended.\\n"; }
    location ~ "/\\.(?!well-known(/|$))" { return 404 "Not found.\\n"; }
    location / {
      default_type application/octet-stream;
      index index.html index.htm;
      # Links above the customer's folder are ours; below it none is followed, not even to a file of the same owner.
      disable_symlinks on from=$document_root;
    }
    location @missing { return 404 "Not found.\\n"; }
  }
}
`;
}

function certificateMap({ web, siteDomain }: ProftpdNodeSettings): string {
  if (web.tls === undefined) return "";
  const ofSites = `${hostName}\\.${siteDomain.replaceAll(".", "\\.")}`;
  return `  map $ssl_server_name $certificate {
    default "";
    "~^${ofSites}$" ${web.tls.siteCertificateFile};
    "~^${hostName}$" ${web.tls.certificatesFolder}/$ssl_server_name.pem;
  }
`;
}

function tlsLines({ web }: ProftpdNodeSettings): string {
  if (web.tls === undefined) return "";
  return `    listen ${endpoint(web.address, web.tls.port)} ssl http2 default_server;
    ssl_protocols TLSv1.2 TLSv1.3;
    # Read at every handshake: a new file is served at once, and a host name without a file gets no certificate.
    ssl_certificate $certificate;
    ssl_certificate_key $certificate;
`;
}

function endpoint(address: string, port: number): string {
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}
