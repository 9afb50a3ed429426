/** Domains as /v2 shows them. */
import Type, { type Static } from "typebox";
import { presentSecond, wholeSecond } from "#api/v2/instant.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type Contact, findProfile, joinedProfileColumns, profileColumnNames } from "#domains/contacts/contact.ts";
import { joinContact, openKnown } from "#domains/contacts/read.ts";
import { nameServersSetter } from "#domains/kinds/nameservers.ts";
import { isSent } from "#domains/orders/follow-up.ts";
import { domainsLister } from "#domains/portfolio/list.ts";
import { type DomainRow, domainColumns } from "#domains/portfolio/present.ts";
import { domainReader } from "#domains/portfolio/read.ts";
import type { ShownDomain } from "#domains/portfolio/rows.ts";
import { domainName, textLike } from "#use-case/docs.ts";
import type { Caller } from "#use-case/use-case.ts";

const briefShape = Type.Object(
  { domain_name: domainName, expiration_date: wholeSecond, will_renew: Type.Boolean({ examples: [true] }) },
  { title: "DomainV2" },
);

const presentInBrief = ({ domain_name, expiration_date, will_renew }: DomainRow): Static<typeof briefShape> => ({
  domain_name: domain_name!,
  expiration_date: presentSecond(expiration_date!),
  will_renew: will_renew!,
});

/** GET /v2/domains */
export const listDomains = domainsLister(briefShape, presentInBrief);

const domainColumnNames = Object.keys(domainColumns).map((column) => `domain.${column}`);

const domainWithRegistrant = statement(
  "domain-with-registrant",
  `SELECT ${domainColumnNames.join(", ")}, renewal.id IS NOT NULL AND ${isSent} AS is_renewal_sent,
     domain.handles ->> 'registrant' IS NULL OR known.contact_id IS NOT NULL AND known.data_digest IS NULL AS is_profile, contact.digest, contact.data_sealed,
     domain.reseller_id, ${profileColumnNames}
   FROM domains AS domain
     LEFT JOIN renewals AS renewal ON renewal.id = domain.renewal_id
     ${joinContact("domain", "domain.handles ->> 'registrant'")}
     LEFT JOIN reseller_profiles AS profile ON profile.reseller_id = domain.reseller_id
   WHERE domain.reseller_id = $reseller_id AND domain.domain_name = $name`,
  {
    ...domainColumns,
    is_renewal_sent: "bool",
    is_profile: "bool",
    digest: "text?",
    data_sealed: "bytea?",
    reseller_id: "int8",
    ...joinedProfileColumns,
  },
);

type FoundDomain = NonNullable<(typeof domainWithRegistrant)["row"]>;

const orEmpty = (example: string) => Type.String({ description: "Empty if there is none.", examples: [example] });
const registrantShape = Type.Object(
  {
    first_name: orEmpty("Ada"),
    last_name: orEmpty("Byron"),
    address: orEmpty("Mews 7"),
    postal_code: orEmpty("EC1A 1BB"),
    city: orEmpty("London"),
    country_code: orEmpty("GB"),
    email: orEmpty("ada@mail.example"),
    fax: orEmpty(""),
    phone: orEmpty("+44.2079460001"),
    language_code: orEmpty(""),
    company_name: orEmpty("Engines Ltd"),
    enterprise_number: orEmpty(""),
  },
  { title: "RegistrantV2" },
);

const fullShape = Type.Object(
  {
    ...briefShape.properties,
    name_servers: Type.Array(
      Type.Object({
        name: textLike("ns1.host.example"),
        ip: Type.String({ description: "The first address that it has at the registry.", examples: ["192.0.2.1"] }),
      }),
    ),
    registrant: registrantShape,
    can_toggle_renew: Type.Boolean({
      description: "False while the registry carries out a renewal or a delete.",
      examples: [true],
    }),
  },
  { title: "DomainInFullV2" },
);

function presentInFull(domain: FoundDomain, context: Context, caller: Caller): Static<typeof fullShape> {
  const { delegation, is_renewal_sent } = domain;
  return {
    ...presentInBrief(domain),
    name_servers: (delegation as ShownDomain["name_servers"]).map(({ name, addresses }) => ({
      name,
      ip: addresses?.[0] ?? "",
    })),
    registrant: presentRegistrant(caller.scopes.includes("contacts:read") ? findRegistrant(domain, context) : null),
    can_toggle_renew: !is_renewal_sent,
  };
}

/** The registrant that the registry shows; if it shows none, the reseller, from its profile. */
function findRegistrant(domain: FoundDomain, context: Context): Contact | null {
  return openKnown(context, domain.reseller_id, domain, findProfile(domain));
}

/** Clients expect every field, and texts where there is nothing. */
function presentRegistrant(contact: Contact | null): Static<typeof registrantShape> {
  return {
    first_name: contact?.first_name ?? "",
    last_name: contact?.last_name ?? "",
    address: contact?.address ?? "",
    postal_code: contact?.postal_code ?? "",
    city: contact?.city ?? "",
    country_code: contact?.country_code ?? "",
    email: contact?.email ?? "",
    fax: contact?.fax ?? "",
    phone: contact?.phone ?? "",
    language_code: contact?.language_code ?? "",
    company_name: contact?.company_name ?? "",
    enterprise_number: contact?.enterprise_number ?? "",
  };
}

/** GET /v2/domains/<domain_name>: one database query. */
export const readDomain = domainReader(domainWithRegistrant, fullShape, presentInFull);

/** PUT /v2/domains/<domain_name>/nameservers: 204 as soon as the order is accepted; the domain shows them when the registry does. */
export const setNameServers = nameServersSetter({ status: 204 });
