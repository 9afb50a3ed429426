import { addDays, addMonths } from "../clock.ts";
import { feeUri, rgpUri } from "../namespaces.ts";
import type { Domain } from "../objects.ts";
import type { CommandContext, Outcome, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { findChild, tag, type XmlElement } from "../xml.ts";
import { agreedFee } from "./fees.ts";

const autoRenewMonths = 12;

/**
 * RFC 3915 §4.2.5: a request, then a report if the registry requires one, restores a name in redemption. The command has an
 * empty add, rem or chg, because nothing else may change with it.
 */
export function restoreDomain(context: CommandContext, domain: Domain, rgpUpdate: XmlElement): Outcome {
  const { registry, registrar, element, extensions } = context;
  const parts = element.children.filter(({ local }) => local !== "name");
  if (parts.length === 0) throw new Refusal(2003, "a restore requires an empty add, rem or chg");
  if (parts.some(({ children }) => children.length > 0))
    throw new Refusal(2306, "a restore cannot change anything else");
  if (extensions.some(({ uri }) => uri !== rgpUri && uri !== feeUri)) {
    throw new Refusal(2306, "a restore cannot change anything else");
  }
  const restore = findChild(rgpUpdate, "restore")!;
  const isReport = restore.attributes.op === "report";
  const report = findChild(restore, "report");
  if (isReport && !report) throw new Refusal(2003, "the report is missing");
  if (!isReport && report) throw new Refusal(2002, "a request has no report");
  const stage = isReport ? "pendingRestore" : "redemptionPeriod";
  if (domain.scheduled?.change) throw new Refusal(2304, "a restore is pending already");
  if (domain.deletion?.stage !== stage) throw new Refusal(2304, `the name is not in ${stage}`);

  const fee = isReport ? undefined : agreedFee(context, domain.name, "restore", 0);
  const now = registry.now();
  const upDate = now.toISOString();
  if (isReport || !registry.settings.restoreReport) {
    registry.store.domains.put({ ...broughtBack(registry, domain), upID: registrar, upDate });
    return { code: 1000, extension: fee };
  }
  const until = addDays(now, registry.settings.restoreReportDays).toISOString();
  const deletion = { ...domain.deletion, stage: "pendingRestore", until } as const;
  registry.store.domains.put({ ...domain, deletion, upID: registrar, upDate });
  const upData = tag("rgp:upData", { "xmlns:rgp": rgpUri }, tag("rgp:rgpStatus", { s: "pendingRestore" }));
  return { code: 1000, extension: [upData, ...(fee ?? [])] };
}

/** The name as if it had never been deleted, with the renewals that it has missed. */
function broughtBack(registry: Registry, domain: Domain): Domain {
  let exDate = new Date(domain.exDate);
  while (exDate <= registry.now()) exDate = addMonths(exDate, autoRenewMonths);
  const statuses = domain.statuses.filter((status) => status !== "pendingDelete");
  return { ...domain, statuses, exDate: exDate.toISOString(), deletion: undefined };
}
