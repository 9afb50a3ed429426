/** The body of POST /domains/registrations, and what a dry run answers. */
import Type from "typebox";
import { contactExample, contactShape } from "#domains/contacts/contact.ts";
import { nameServerShape, nameServersField } from "#domains/name-servers/wanted.ts";
import { priceShape } from "#domains/register/check-names.ts";
import { checkedByHand, domainName, textLike } from "#use-case/docs.ts";

const role = Type.Optional(contactShape);
const contactsShape = Type.Object({ admin: role, tech: role, billing: role }, { title: "OtherContacts" });

export const requestBody = Type.Object(
  {
    domain_name: Type.String({ description: "In any spelling." }),
    registrant: Type.Optional(checkedByHand(contactShape)),
    contacts: Type.Optional(checkedByHand(contactsShape)),
    years: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, description: "By default the suffix's period." })),
    name_servers: Type.Optional(nameServersField),
    will_renew: Type.Optional(Type.Boolean({ default: true })),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: "Every check is made; nothing is ordered." })),
    allocation_token: Type.Optional(
      Type.String({ description: "The token with which the registry allocates the name (RFC 8495)." }),
    ),
  },
  {
    examples: [
      { domain_name: "hello.example" },
      { domain_name: "hello.example", registrant: contactExample, name_servers: ["ns1.dns-host.net"], dry_run: true },
    ],
  },
);

const ignored = Type.Optional(
  Type.Array(textLike("colour"), { description: "Fields of the request that have no meaning here, and are ignored." }),
);

/** What a `dry_run` answers: what would be sent, or the order in progress. */
export const dryRun = Type.Union([
  Type.Object(
    {
      domain_name: domainName,
      years: Type.Integer({ examples: [1] }),
      will_renew: Type.Boolean({ examples: [true] }),
      name_servers: Type.Array(nameServerShape),
      name_servers_later: Type.Optional(
        Type.Array(nameServerShape, { description: "The name servers that a later order has to set." }),
      ),
      registrant: role,
      contacts: Type.Optional(contactsShape),
      price: Type.Optional(priceShape),
      ignored,
    },
    { title: "DryRun" },
  ),
  Type.Object(
    { domain_name: domainName, order_code: textLike("REG-G43VRN9P-AV8"), ignored },
    { title: "DryRunOfOrdered" },
  ),
]);
