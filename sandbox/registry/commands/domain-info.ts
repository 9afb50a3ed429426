import { requireDomainName } from "../domain-name.ts";
import { rgpStatusesOf } from "../graces.ts";
import { hostsBelow } from "../hosts-below.ts";
import { dnsbeUri, domainExtUri, domainUri, rgpUri, secDnsUri } from "../namespaces.ts";
import { type Delegation, type Domain, type Host, statusesOf } from "../objects.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { type Content, childToken, findChild, type Markup, optionalTag, tag } from "../xml.ts";
import { dnsSecurityTag } from "./dns-security.ts";
import { dnsbeTags } from "./dnsbe.ts";
import { findAuthInfo, findDomain, requireRightAuthInfo } from "./domain-data.ts";
import { authInfoTag, domainExtTag, issueAuthInfo, withoutDeletion } from "./eurid.ts";
import { sidnTags } from "./sidn.ts";

/** RFC 5731 §3.1.2, with the rgpStatus of RFC 3915 and the records of RFC 5910 if the login requested them. Every registrar sees a name; only the sponsor, or a client that presents it, sees the authInfo. */
export const infoDomain: CommandHandler = (context) => {
  const { registry, session, registrar, element } = context;
  const found = findDomain(registry, requireDomainName(childToken(element, "name")));
  if (!found) throw new Refusal(2303, "there is no such name");
  const domain = issueAuthInfo(context, found);
  const presented = findAuthInfo(element);
  requireRightAuthInfo(presented, domain);
  const { authInfo, infoShowsAuthInfo } = registry.settings;
  const mayBeShown = authInfo === "registrar" || authInfo === "registry-shown";
  const isShown = (infoShowsAuthInfo && mayBeShown) || domain.authInfoUntil !== undefined;
  const isPrivileged = isShown && (domain.clID === registrar || presented !== undefined);
  const showsExt = session.services.has(domainExtUri);
  const showsQuarantine = showsExt || session.services.has(dnsbeUri);
  const hosts = findChild(element, "name")?.attributes.hosts ?? "all";
  const below = hosts === "all" || hosts === "sub" ? hostsBelow(registry.store, domain.name) : [];
  const rgpStatuses = session.services.has(rgpUri) ? rgpStatusesOf(domain, registry.now()) : [];
  const security = session.services.has(secDnsUri) ? domain.security : undefined;
  return {
    code: 1000,
    resData: infData(showsQuarantine ? withoutDeletion(domain) : domain, {
      isPrivileged,
      withServers: hosts === "all" || hosts === "del",
      withExDate: registry.settings.infoShowsExDate,
      below,
    }),
    extension: [
      ...(rgpStatuses.length > 0 ? [rgpTag(rgpStatuses)] : []),
      ...(security ? [dnsSecurityTag(security)] : []),
      ...(showsExt ? [domainExtTag(domain)] : []),
      ...dnsbeTags(context, domain),
      ...sidnTags(session),
      ...authInfoTag(domain),
    ],
  };
};

function rgpTag(statuses: string[]): Markup {
  return tag(
    "rgp:infData",
    { "xmlns:rgp": rgpUri },
    statuses.map((status) => tag("rgp:rgpStatus", { s: status })),
  );
}

/** What `<domain:infData>` shows. */
interface Shown {
  /** The authInfo too. */
  isPrivileged: boolean;
  withServers: boolean;
  withExDate: boolean;
  below: Host[];
}

export function infData(domain: Domain, { isPrivileged, withServers, withExDate, below }: Shown): Markup {
  return tag(
    "domain:infData",
    { "xmlns:domain": domainUri },
    tag("domain:name", {}, domain.name),
    tag("domain:roid", {}, domain.roid),
    statusesOf(domain).map((status) => tag("domain:status", { s: status })),
    optionalTag("domain:registrant", domain.registrant),
    domain.contacts.map((contact) => tag("domain:contact", { type: contact.type }, contact.id)),
    withServers && domain.delegation ? nsTag(domain.delegation) : [],
    below.map((host) => tag("domain:host", {}, host.name)),
    tag("domain:clID", {}, domain.clID),
    tag("domain:crID", {}, domain.crID),
    tag("domain:crDate", {}, domain.crDate),
    optionalTag("domain:upID", domain.upID),
    optionalTag("domain:upDate", domain.upDate),
    withExDate ? tag("domain:exDate", {}, domain.exDate) : [],
    optionalTag("domain:trDate", domain.trDate),
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
