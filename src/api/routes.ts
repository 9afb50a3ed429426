import { readAccount } from "#api/account.ts";
import { type Route, type RouteMatch, routeFinder } from "#api/route.ts";
import { checkSignature } from "#api/signing/check-signature.ts";
import { v2Door } from "#api/v2/door.ts";
import { v2Routes } from "#api/v2/routes.ts";
import { readContacts } from "#domains/contacts/read.ts";
import { orderAuthCode, readAuthCode } from "#domains/kinds/auth-code/use-cases.ts";
import { setContacts } from "#domains/kinds/contacts.ts";
import { deleteDomain } from "#domains/kinds/delete.ts";
import { setDnssec } from "#domains/kinds/dnssec.ts";
import { setNameServers } from "#domains/kinds/nameservers.ts";
import { renewDomain } from "#domains/kinds/renew.ts";
import { restoreDomain } from "#domains/kinds/restore.ts";
import { answerTransfer } from "#domains/kinds/transfer-answer.ts";
import { setTransferLock } from "#domains/kinds/transfer-lock.ts";
import { readDomainHistory } from "#domains/orders/history.ts";
import { listOrders } from "#domains/orders/list.ts";
import { readOrderByCode } from "#domains/orders/read.ts";
import { listDepartures } from "#domains/portfolio/departures.ts";
import { listDomains } from "#domains/portfolio/list.ts";
import { readDomain } from "#domains/portfolio/read.ts";
import { checkNames } from "#domains/register/check-names.ts";
import { registerDomain } from "#domains/register/register.ts";
import { orderStatus } from "#domains/register/status.ts";
import { listRenewals } from "#domains/schedule/list.ts";
import { setWillRenew } from "#domains/schedule/switch.ts";
import { listEvents } from "#events/read.ts";
import { createHostingAccount } from "#hosting/accounts/create.ts";
import { deleteHostingAccount } from "#hosting/accounts/delete.ts";
import { readHostingHistory } from "#hosting/accounts/history.ts";
import { setHostingPassword } from "#hosting/accounts/password.ts";
import { listHostingAccounts, readHostingAccount } from "#hosting/accounts/read.ts";
import { setHostingSuspension } from "#hosting/accounts/set-suspension.ts";
import { addHostNameToAccount } from "#hosting/host-names/add.ts";
import { listHostNames, readHostName } from "#hosting/host-names/read.ts";
import { removeHostNameFromAccount } from "#hosting/host-names/remove.ts";
import { listServicePacks } from "#hosting/packs/list.ts";
import type { Door, UseCaseRequest } from "#use-case/use-case.ts";
import { listWebhookDeliveries, resendWebhookDelivery, testWebhook } from "#webhooks/deliveries.ts";
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from "#webhooks/manage.ts";
import { listZoneChanges, readZoneChange } from "#zones/changes.ts";
import {
  deleteRecordSet,
  listRecords,
  patchRecords,
  putRecordSet,
  readRecordSet,
  replaceRecords,
} from "#zones/records.ts";
import { deleteZone, putZone, readZone } from "#zones/zone.ts";

/**
 * The API; every path is served bare and under /v1. v2, under /v2, has its own table with the same use cases
 * (v2/routes.ts). The golden file test/golden/routes.txt is printed from both.
 */
export const routes: readonly Route[] = [
  { method: "GET", path: "/domains", useCase: listDomains, takesMore: true },
  { method: "GET", path: "/domains/availability", useCase: checkNames },
  { method: "GET", path: "/domains/:domain_name", useCase: readDomain, takesMore: true },
  { method: "GET", path: "/domains/departures", useCase: listDepartures },
  { method: "POST", path: "/domains/registrations", useCase: registerDomain, takesMore: true },
  { method: "GET", path: "/domains/registrations/:order_code", useCase: orderStatus, takesMore: true },
  { method: "DELETE", path: "/domains/:domain_name", useCase: deleteDomain },
  { method: "GET", path: "/domains/:domain_name/auth-code", useCase: readAuthCode },
  { method: "POST", path: "/domains/:domain_name/auth-code", useCase: orderAuthCode },
  { method: "GET", path: "/domains/:domain_name/contacts", useCase: readContacts },
  { method: "PUT", path: "/domains/:domain_name/contacts", useCase: setContacts },
  { method: "PUT", path: "/domains/:domain_name/dnssec", useCase: setDnssec },
  { method: "PUT", path: "/domains/:domain_name/nameservers", useCase: setNameServers },
  { method: "PUT", path: "/domains/:domain_name/renew", useCase: setWillRenew },
  { method: "POST", path: "/domains/:domain_name/renewals", useCase: renewDomain },
  { method: "POST", path: "/domains/:domain_name/restores", useCase: restoreDomain },
  { method: "PUT", path: "/domains/:domain_name/transfer-lock", useCase: setTransferLock },
  { method: "GET", path: "/domains/:domain_name/history", useCase: readDomainHistory },
  { method: "POST", path: "/domains/:domain_name/transfer-out", useCase: answerTransfer },
  { method: "GET", path: "/domains/:domain_name/dns", useCase: readZone },
  { method: "PUT", path: "/domains/:domain_name/dns", useCase: putZone },
  { method: "DELETE", path: "/domains/:domain_name/dns", useCase: deleteZone },
  { method: "GET", path: "/domains/:domain_name/dns/changes", useCase: listZoneChanges },
  { method: "GET", path: "/domains/:domain_name/dns/changes/:change_id", useCase: readZoneChange },
  { method: "GET", path: "/domains/:domain_name/records", useCase: listRecords },
  { method: "PUT", path: "/domains/:domain_name/records", useCase: replaceRecords },
  { method: "PATCH", path: "/domains/:domain_name/records", useCase: patchRecords },
  { method: "GET", path: "/domains/:domain_name/records/:subname/:record_type", useCase: readRecordSet },
  { method: "PUT", path: "/domains/:domain_name/records/:subname/:record_type", useCase: putRecordSet },
  { method: "DELETE", path: "/domains/:domain_name/records/:subname/:record_type", useCase: deleteRecordSet },
  { method: "GET", path: "/orders", useCase: listOrders },
  { method: "GET", path: "/orders/:order_code", useCase: readOrderByCode },
  { method: "GET", path: "/renewals", useCase: listRenewals },
  { method: "GET", path: "/hostingaccounts", useCase: listHostingAccounts, takesMore: true },
  { method: "GET", path: "/hostingaccounts/:identifier", useCase: readHostingAccount, takesMore: true },
  { method: "POST", path: "/hostingaccounts", useCase: createHostingAccount, takesMore: true },
  { method: "DELETE", path: "/hostingaccounts/:identifier", useCase: deleteHostingAccount },
  { method: "PUT", path: "/hostingaccounts/:identifier/password", useCase: setHostingPassword },
  { method: "PUT", path: "/hostingaccounts/:identifier/suspension", useCase: setHostingSuspension },
  { method: "GET", path: "/hostingaccounts/:identifier/history", useCase: readHostingHistory },
  { method: "GET", path: "/hostingaccounts/:identifier/hosts", useCase: listHostNames },
  { method: "GET", path: "/hostingaccounts/:identifier/hosts/:host_name", useCase: readHostName },
  { method: "PUT", path: "/hostingaccounts/:identifier/hosts/:host_name", useCase: addHostNameToAccount },
  { method: "DELETE", path: "/hostingaccounts/:identifier/hosts/:host_name", useCase: removeHostNameFromAccount },
  { method: "GET", path: "/events", useCase: listEvents },
  { method: "GET", path: "/webhooks", useCase: listWebhooks },
  { method: "POST", path: "/webhooks", useCase: createWebhook },
  { method: "GET", path: "/webhooks/:webhook_id", useCase: readWebhook },
  { method: "PUT", path: "/webhooks/:webhook_id", useCase: updateWebhook },
  { method: "DELETE", path: "/webhooks/:webhook_id", useCase: deleteWebhook },
  { method: "POST", path: "/webhooks/:webhook_id/secret", useCase: rotateWebhookSecret },
  { method: "POST", path: "/webhooks/:webhook_id/test", useCase: testWebhook },
  { method: "GET", path: "/webhooks/:webhook_id/deliveries", useCase: listWebhookDeliveries },
  { method: "POST", path: "/webhooks/:webhook_id/deliveries/:event_id/resend", useCase: resendWebhookDelivery },
  { method: "GET", path: "/servicepacks", useCase: listServicePacks },
  { method: "GET", path: "/account", useCase: readAccount },
  // Without a signature it is in open-routes.ts.
  { method: "POST", path: "/signature-check", useCase: checkSignature },
];

const v1Door: Door = {
  lookAgainHeader: "check-after",
  registrationPath: (orderCode) => `/domains/registrations/${orderCode}`,
  hostingAccountPath: (identifier) => `/hostingaccounts/${identifier}`,
  hostingCreationPath: ({ identifier }) => `/hostingaccounts/${identifier}`,
};

const findRoute = routeFinder(routes);
const findV2Route = routeFinder(v2Routes);

export interface Place extends RouteMatch {
  prefix: UseCaseRequest["prefix"];
  door: Door;
}

/**
 * Finds the route of a path. `path` is below `/v1`, but begins with `/v2` there: it names another resource.
 * @param segments decoded and in lower case, as `readTarget` returns them
 * @returns undefined when nothing is at this path
 */
export function matchRoute(method: string, segments: readonly string[]): Place | undefined {
  if (segments[0] === "v2") {
    const found = findV2Route(method, segments);
    // What clients ask for that is not served here, such as /v2/domains/transfers, is not a name that refuses the method.
    const { domain_name: name } = found?.params ?? {};
    if (!found || (!found.route && name !== undefined && !name.includes("."))) return undefined;
    return { ...found, prefix: "/v2", door: v2Door };
  }
  const prefix = segments[0] === "v1" ? "/v1" : "";
  const found = findRoute(method, prefix === "" ? segments : segments.slice(1));
  return found && { ...found, prefix, door: v1Door };
}
