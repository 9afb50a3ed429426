import type { Route } from "#api/route.ts";
import { createAccount, listAccounts, listServicePacks, readAccount } from "#api/v2/accounts.ts";
import {
  createDnsRecord,
  deleteDnsRecord,
  listDnsRecords,
  readDnsRecord,
  updateDnsRecord,
} from "#api/v2/dns-records.ts";
import { listDomains, readDomain, setNameServers } from "#api/v2/domains.ts";
import { listLinuxHostings, readLinuxHosting } from "#api/v2/linux-hostings.ts";
import { readProvisioningJob } from "#api/v2/provisioning-job.ts";
import { registerDomain } from "#domains/register/register.ts";
import { setWillRenew } from "#domains/schedule/switch.ts";
import { configureFtp } from "#hosting/accounts/ftp.ts";

const table: readonly Route[] = [
  { method: "GET", path: "/v2/domains", useCase: listDomains },
  { method: "GET", path: "/v2/domains/:domain_name", useCase: readDomain },
  { method: "POST", path: "/v2/domains/registrations", useCase: registerDomain },
  { method: "PUT", path: "/v2/domains/:domain_name/renew", useCase: setWillRenew },
  { method: "PUT", path: "/v2/domains/:domain_name/nameservers", useCase: setNameServers },
  { method: "GET", path: "/v2/dns/:domain_name/records", useCase: listDnsRecords, takesSlash: true },
  { method: "POST", path: "/v2/dns/:domain_name/records", useCase: createDnsRecord, takesSlash: true },
  { method: "GET", path: "/v2/dns/:domain_name/records/:record_id", useCase: readDnsRecord },
  { method: "PUT", path: "/v2/dns/:domain_name/records/:record_id", useCase: updateDnsRecord },
  { method: "DELETE", path: "/v2/dns/:domain_name/records/:record_id", useCase: deleteDnsRecord },
  { method: "GET", path: "/v2/provisioningjobs/:job_id", useCase: readProvisioningJob },
  { method: "GET", path: "/v2/servicepacks", useCase: listServicePacks },
  { method: "GET", path: "/v2/accounts", useCase: listAccounts, takesSlash: true },
  { method: "POST", path: "/v2/accounts", useCase: createAccount, takesSlash: true },
  { method: "GET", path: "/v2/accounts/:account_id", useCase: readAccount },
  { method: "GET", path: "/v2/linuxhostings", useCase: listLinuxHostings },
  { method: "GET", path: "/v2/linuxhostings/:identifier", useCase: readLinuxHosting },
  { method: "PUT", path: "/v2/linuxhostings/:identifier/ftp/configuration", useCase: configureFtp },
];

/**
 * v2 of the API: the same use cases in other shapes. docs/api-v2.md is its page. Its clients were written for a service
 * that has more fields.
 */
export const v2Routes: readonly Route[] = table.map((route) => ({ ...route, takesMore: true }));
