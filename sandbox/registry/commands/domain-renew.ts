import { addMonths } from "../clock.ts";
import { charge } from "../credit.ts";
import { withGrace } from "../graces.ts";
import { domainUri } from "../namespaces.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { registrationYearsMax } from "../settings.ts";
import { childToken, tag } from "../xml.ts";
import { monthsOf, monthsPerYear, requireOwnDomain, requireStatusAllows } from "./domain-data.ts";
import { agreedFee } from "./fees.ts";

/** RFC 5731 §3.2.3. A curExpDate that is not the exDate is refused, so a repeated renew is executed once. */
export const renewDomain: CommandHandler = (context) => {
  const { registry, registrar, element } = context;
  if (!registry.settings.renewCommand) throw new Refusal(2101, "names are renewed at their exDate");
  const domain = requireOwnDomain(registry, registrar, element);
  const months = monthsOf(registry, element);
  requireStatusAllows(domain, "Renew");
  // xs:date may carry a time zone ("2027-03-01Z"): the registry counts in UTC and compares the day alone.
  const presentedDay = childToken(element, "curExpDate").slice(0, "2027-03-01".length);
  if (presentedDay !== domain.exDate.slice(0, presentedDay.length)) {
    throw new Refusal(registry.settings.oldExpDateCode, "curExpDate is not the exDate");
  }
  const now = registry.now();
  const exDate = addMonths(new Date(domain.exDate), months);
  if (exDate > addMonths(now, registrationYearsMax * 12)) throw new Refusal(2105, "would expire too far ahead");
  const extension = agreedFee(context, domain.name, "renew", months);
  charge(registry, registrar, months / monthsPerYear);
  const graces = withGrace(registry, domain, "renewPeriod", months);
  const renewed = { ...domain, graces, exDate: exDate.toISOString(), upID: registrar, upDate: now.toISOString() };
  registry.store.domains.put(renewed);
  return {
    code: 1000,
    resData: tag(
      "domain:renData",
      { "xmlns:domain": domainUri },
      tag("domain:name", {}, renewed.name),
      tag("domain:exDate", {}, renewed.exDate),
    ),
    extension,
  };
};
