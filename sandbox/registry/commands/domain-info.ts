import { requireDomainName } from "../domain-name.ts";
import { domainUri } from "../namespaces.ts";
import { type Delegation, type Domain, statusesOf } from "../objects.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { type Content, childToken, findChild, optionalTag, tag } from "../xml.ts";
import { findAuthInfo, findDomain } from "./domain-data.ts";

/** RFC 5731 §3.1.2. Anyone sees a name; its authInfo only the sponsor, or who knows it already. */
export const infoDomain: CommandHandler = ({ registry, registrar, element }) => {
  const domain = findDomain(registry, requireDomainName(childToken(element, "name")));
  if (!domain) throw new Refusal(2303);
  const presented = findAuthInfo(element);
  if (presented !== undefined && presented !== domain.authInfo) throw new Refusal(2202);
  const isPrivileged = domain.clID === registrar || presented !== undefined;
  const hosts = findChild(element, "name")?.attributes.hosts ?? "all";
  return { code: 1000, resData: infData(domain, isPrivileged, hosts === "all" || hosts === "del") };
};

function infData(domain: Domain, isPrivileged: boolean, withHosts: boolean) {
  return tag(
    "domain:infData",
    { "xmlns:domain": domainUri },
    tag("domain:name", {}, domain.name),
    tag("domain:roid", {}, domain.roid),
    statusesOf(domain).map((status) => tag("domain:status", { s: status })),
    optionalTag("domain:registrant", domain.registrant),
    domain.contacts.map((contact) => tag("domain:contact", { type: contact.type }, contact.id)),
    withHosts && domain.delegation ? nsTag(domain.delegation) : [],
    tag("domain:clID", {}, domain.clID),
    tag("domain:crID", {}, domain.crID),
    tag("domain:crDate", {}, domain.crDate),
    optionalTag("domain:upID", domain.upID),
    optionalTag("domain:upDate", domain.upDate),
    tag("domain:exDate", {}, domain.exDate),
    isPrivileged ? tag("domain:authInfo", {}, tag("domain:pw", {}, domain.authInfo)) : [],
  );
}

function nsTag({ form, servers }: Delegation): Content {
  if (form === "hostObj") {
    return tag(
      "domain:ns",
      {},
      servers.map((server) => tag("domain:hostObj", {}, server.name)),
    );
  }
  return tag(
    "domain:ns",
    {},
    servers.map((server) =>
      tag(
        "domain:hostAttr",
        {},
        tag("domain:hostName", {}, server.name),
        server.addresses.map(({ version, address }) => tag("domain:hostAddr", { ip: version }, address)),
      ),
    ),
  );
}
