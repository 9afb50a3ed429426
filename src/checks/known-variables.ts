/** Every variable that begins with DEEDHOUSE_ and that some command reads. A typing mistake in one would be silent. */
import { nearest } from "#use-case/similar-names.ts";

/** `…_FILE` of each names a file with the value, where it is a setting of api, worker or node. */
export const knownVariables: readonly string[] = [
  "DEEDHOUSE_ALARMS_MAIL_TO",
  "DEEDHOUSE_ALARMS_SLACK",
  "DEEDHOUSE_ALARMS_WEBHOOK",
  "DEEDHOUSE_ALLOW_LOST_COMMITS",
  "DEEDHOUSE_ALLOW_PLAIN_HTTP",
  "DEEDHOUSE_API_HOST",
  "DEEDHOUSE_API_KEY",
  "DEEDHOUSE_API_PORT",
  "DEEDHOUSE_API_SECRET",
  "DEEDHOUSE_AUTH_CODE_HOURS",
  "DEEDHOUSE_CHECK_BUDGET_MS",
  "DEEDHOUSE_CHECK_FRESH_MS",
  "DEEDHOUSE_COMMON_PASSWORDS_FILE",
  "DEEDHOUSE_CONNECTIONS_MAX",
  "DEEDHOUSE_CONTACT_MONTHS",
  "DEEDHOUSE_DATABASE_SYNCHRONOUS",
  "DEEDHOUSE_DEPLOYMENT",
  "DEEDHOUSE_DISK_FOLDERS",
  "DEEDHOUSE_DNS_SERVERS",
  "DEEDHOUSE_DRAIN_MS",
  "DEEDHOUSE_FEW_CONNECTIONS_MAX",
  "DEEDHOUSE_FORWARDED_HEADER",
  "DEEDHOUSE_HALF_OPEN_MS",
  "DEEDHOUSE_LOG_BYTES_MAX",
  "DEEDHOUSE_LOG_LEVEL",
  "DEEDHOUSE_MAIL_FROM",
  "DEEDHOUSE_MASTER_KEY",
  "DEEDHOUSE_MESSAGE_DAYS",
  "DEEDHOUSE_METRICS_ALLOW",
  "DEEDHOUSE_METRICS_HOST",
  "DEEDHOUSE_METRICS_PORT",
  "DEEDHOUSE_NODES_CERTIFICATE",
  "DEEDHOUSE_NODES_CONNECTIONS_MAX",
  "DEEDHOUSE_NODES_HOST",
  "DEEDHOUSE_NODES_KEY",
  "DEEDHOUSE_NODES_PORT",
  "DEEDHOUSE_NODES_PROXY_PROTOCOL",
  "DEEDHOUSE_NODES_URL",
  "DEEDHOUSE_NODE_DATA_DIR",
  "DEEDHOUSE_NODE_FTP_PORT",
  "DEEDHOUSE_NODE_HOST",
  "DEEDHOUSE_NODE_PASSIVE_FROM",
  "DEEDHOUSE_NODE_PASSIVE_TO",
  "DEEDHOUSE_NODE_TOKEN",
  "DEEDHOUSE_NODE_WEB_PORT",
  "DEEDHOUSE_NONCES",
  "DEEDHOUSE_PROFILE",
  "DEEDHOUSE_PROFILES",
  "DEEDHOUSE_PROXY_PROTOCOL",
  "DEEDHOUSE_REGISTRIES_FILE",
  "DEEDHOUSE_REPLAY_DIR",
  "DEEDHOUSE_RESERVED_CONNECTIONS_PERCENT",
  "DEEDHOUSE_RESERVED_HOSTS",
  "DEEDHOUSE_RUNTIME_DIR",
  "DEEDHOUSE_SIGNATURE_WINDOW_SECONDS",
  "DEEDHOUSE_SITE_DOMAIN",
  "DEEDHOUSE_SMTP_URL",
  "DEEDHOUSE_SOURCE_CONNECTIONS_MAX",
  "DEEDHOUSE_SOURCE_FAILURES_MAX",
  "DEEDHOUSE_SOURCE_HALF_OPEN_MAX",
  "DEEDHOUSE_TLS_CERTIFICATE",
  "DEEDHOUSE_TLS_KEY",
  "DEEDHOUSE_TRUSTED_PROXIES",
  "DEEDHOUSE_URL",
  "DEEDHOUSE_WEBHOOK_CA_FILE",
  "DEEDHOUSE_WEBHOOK_PLAIN_HTTP",
  "DEEDHOUSE_WEBHOOK_RANGES",
];

const known = new Set(knownVariables);
/** Of the tests, which run these commands. */
const testPrefix = "DEEDHOUSE_TEST_";

export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const unknown = Object.keys(environment).filter(
    (name) =>
      name.startsWith("DEEDHOUSE_") &&
      !name.startsWith(testPrefix) &&
      !known.has(name) &&
      !known.has(name.replace(/_FILE$/, "")),
  );
  return unknown.toSorted().map((name) => {
    const meant = nearest(name, knownVariables);
    return `${name} is no setting: ${meant === undefined ? "remove it" : `remove it, or did you mean ${meant}?`}`;
  });
}
