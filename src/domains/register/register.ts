import type { Static } from "typebox";
import Type from "typebox";
import type { Context } from "#context.ts";
import {
  type ContactRole,
  checkForProfile,
  checkForRegistry,
  contactExample,
  contactShape,
  type GivenContacts,
  parseContacts,
} from "#domains/contacts/contact.ts";
import { type ContactRefs, findOtherRole, refsOf } from "#domains/contacts/stored.ts";
import { type FoundName, type OrderedName, sealSecret } from "#domains/kinds/registration.ts";
import {
  type Delegation,
  divideNameServers,
  nameServerShape,
  nameServersField,
  parseNameServers,
} from "#domains/name-servers/wanted.ts";
import { paidLimitReached } from "#domains/orders/paid-orders.ts";
import { byteaText, commitOrder } from "#domains/register/commit-order.ts";
import { findNameFacts, ownerRetrySeconds } from "#domains/register/name-facts.ts";
import { askAvailability, textOfObstacle } from "#domains/registry/availability.ts";
import { findTarget, type Target } from "#domains/registry/target.ts";
import { ApiError, invalidField, unavailable } from "#errors.ts";
import { newAuthCode } from "#lib/auth-code.ts";
import { type DomainName, InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { newOrderCode } from "#lib/order-code.ts";
import { Secret } from "#lib/secret.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { parseBody } from "#use-case/body.ts";
import { accepted } from "#use-case/check-after.ts";
import { checkedByHand, domainName, textLike } from "#use-case/docs.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";

const role = Type.Optional(contactShape);
const contactsShape = Type.Object({ admin: role, tech: role, billing: role }, { title: "OtherContacts" });

const requestBody = Type.Object(
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

/** The price of a name that has a price of its own (RFC 8748). */
export const priceShape = Type.Object({ amount: textLike("100.00"), currency: textLike("EUR") }, { title: "Price" });

/** What a `dry_run` answers: what would be sent, or the order in progress. */
const dryRun = Type.Union([
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

/** Only an operator ends a pause, which may take a while. */
const pausedRetrySeconds = 60;

/** POST /domains/registrations: 202 and an order, or why not. */
export const registerDomain: UseCase = {
  errors: [
    "bad_request",
    "domain_availability_blocked",
    "domain_availability_taken",
    "domain_availability_lookuperror",
    "order_limit_reached",
    "service_unavailable",
  ],
  scope: "domains:register",
  docs: {
    operation: "registerDomain",
    summary: "Orders the registration of a free name.",
    description: "A repeat for the same name while the order is in progress gets the same answer.",
    isPaidOrder: true,
    body: requestBody,
    answers: {
      202: {
        description: "The order is accepted; `location` is where to follow it.",
        headers: ["location", "look-again"],
      },
      200: { description: "The answer to a `dry_run`: what would be sent, or the order in progress.", body: dryRun },
    },
  },

  async handle(context, request) {
    const { domain_name: text, ...asked } = parseBody(requestBody, request.rawBody);
    const name = parseRequestedName(text);
    const given = parseOrderContacts(asked.registrant, asked.contacts);
    const allocationToken = parseAllocationToken(asked.allocation_token);
    const nameServers = asked.name_servers && parseNameServers(asked.name_servers);
    const target = findTarget(context, name);
    const { live, isUnowned, expectedSeconds } = await checkFacts(context, request, name, target);
    if (live) {
      refuseOtherContacts(context, request, given, live);
      if (asked.dry_run) return answerDryRun(request, { domain_name: name, order_code: live.orderCode });
      return answerLiveOrder(context, request, live.orderCode, expectedSeconds);
    }
    if (!target) throw blocked(context);
    const { registry } = target;
    const asker = { resellerId: request.caller.resellerId, domainName: name, registry };
    checkForRegistry(registry, given, contactPath);
    checkForProfile(registry, given, contactPath);
    const years = checkYears(registry, asked.years);
    const delegation = await divideNameServers(context, asker, nameServers);
    const checkedAt = context.clock.now();
    const fee = await checkAvailability(context, registry, name, { allocationToken, isUnowned });
    if (fee && years !== registry.periodYears) throw pricedForOtherYears(registry);
    const registration = {
      name,
      given,
      expectedSeconds,
      checkedAt,
      fee,
      years,
      delegation,
      willRenew: asked.will_renew ?? true,
      allocationToken,
    };
    if (asked.dry_run) return answerDryRun(request, presentRegistration(registration));
    return placeNewOrder(context, request, target, registration);
  },
};

interface Registration {
  name: DomainName;
  /** The contacts that the request names; the reseller's profile is the others. */
  given: GivenContacts;
  expectedSeconds: number;
  /** The time just before the registry was asked. */
  checkedAt: Date;
  /** The price of a name that has a price of its own (RFC 8748). */
  fee: Money | undefined;
  years: number;
  willRenew: boolean;
  delegation: Delegation;
  /** With which the registry allocates the name (RFC 8495). */
  allocationToken: Secret | undefined;
}

function answerDryRun({ ignored }: UseCaseRequest, body: Static<typeof dryRun>): Answer {
  return { status: 200, body: ignored.length === 0 ? body : { ...body, ignored } };
}

/** What a registration would send. */
function presentRegistration(registration: Registration): Static<typeof dryRun> {
  const { name, given, years, willRenew, delegation, fee } = registration;
  const { atCreate, later } = delegation;
  const { registrant, ...contacts } = given;
  return {
    domain_name: name,
    years,
    will_renew: willRenew,
    name_servers: [...atCreate],
    ...(later && { name_servers_later: [...later] }),
    ...(registrant && { registrant }),
    ...(isGiven(contacts) && { contacts }),
    ...(fee && { price: fee }),
  };
}

function checkYears({ yearsMax, periodYears }: RegistryProfile, years = periodYears): number {
  if (years <= yearsMax) return years;
  throw invalidField("years", `Under this suffix a name is registered for at most ${yearsMax} years.`);
}

/** RFC 8495 §4: the schema's type is a token, so white space at its ends, or doubled, could not be sent. */
const allocationTokenShape = /^[!-~]{1,255}$/;

function parseAllocationToken(text: string | undefined): Secret | undefined {
  if (text === undefined || allocationTokenShape.test(text)) return text === undefined ? undefined : new Secret(text);
  throw invalidField("allocation_token", "An allocation token has 1 to 255 printable ASCII characters without spaces.");
}

/** The registry was asked for the price of its usual period. */
function pricedForOtherYears({ periodYears }: RegistryProfile): ApiError {
  const text = `This name has a price of its own, which is agreed for ${periodYears} years: leave years out.`;
  return invalidField("years", text);
}

const contactPath = (role: ContactRole) => (role === "registrant" ? role : `contacts.${role}`);
const isGiven = (given: GivenContacts) => Object.keys(given).length > 0;

function parseOrderContacts(registrant: unknown, contacts: unknown = {}): GivenContacts {
  if (typeof contacts !== "object" || contacts === null || Array.isArray(contacts)) {
    throw invalidField("contacts", "Give an object with the fields admin, tech and billing.");
  }
  const { admin, tech, billing } = contacts as Partial<Record<ContactRole, unknown>>;
  return parseContacts({ registrant, admin, tech, billing }, contactPath);
}

interface LiveOrder {
  orderCode: string;
  contacts: ContactRefs;
}

/** A repeat asks for what is ordered already: it cannot change the contacts. */
function refuseOtherContacts(
  context: Context,
  { caller }: UseCaseRequest,
  given: GivenContacts,
  { orderCode, contacts }: LiveOrder,
): void {
  const other = findOtherRole(context, caller.resellerId, given, contacts);
  if (other === undefined) return;
  const text = `The order ${orderCode} for this name is in progress with another contact: wait for its end, then change it.`;
  throw invalidField(contactPath(other), text);
}

function parseRequestedName(text: string): DomainName {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainName)) throw error;
    throw invalidField("domain_name", error.message);
  }
}

/**
 * Checks everything that the database knows.
 * @returns the caller's own live order for the name, if there is one, whether the registry's sessions have no owner at the moment, and
 * how long such an order takes
 */
async function checkFacts(
  context: Context,
  request: UseCaseRequest,
  name: DomainName,
  target: Target | undefined,
): Promise<{ live: LiveOrder | undefined; isUnowned: boolean; expectedSeconds: number }> {
  const { hasProfile, expectedSeconds, standing } = await findNameFacts(context, request.caller, name, target);
  if (!hasProfile) {
    throw new ApiError("bad_request", {
      text: "Your account has no profile to register names with. Ask the operator to complete it.",
      validationErrors: [{ error_code: "missing", error_text: "The account's profile is missing.", field: "profile" }],
    });
  }
  switch (standing.kind) {
    case "not-served":
      throw blocked(context);
    case "blocked":
      throw blocked(context, name);
    case "own-order":
      return { live: standing, isUnowned: false, expectedSeconds };
    case "own":
      throw alreadyYours(request, standing.orderCode);
    case "taken":
      throw new ApiError("domain_availability_taken");
    case "limit-reached":
      throw paidLimitReached(context.clock.now());
    case "maintained":
      throw unavailable(standing.retrySeconds, registryMaintained);
    case "down":
      throw unavailable(standing.retrySeconds, registryDown);
    case "paused":
      throw unavailable(pausedRetrySeconds, registryDown);
    case "unowned":
    case "unknown":
      return { live: undefined, isUnowned: standing.kind === "unowned", expectedSeconds };
  }
}

const registryMaintained =
  "The registry of this suffix is being maintained. Nothing was ordered; try again after the number of seconds in retry-after.";

const registryDown =
  "Registrations under this suffix are currently unavailable. Nothing was ordered; try again after the number of seconds in retry-after.";

function blocked(context: Context, name?: string): ApiError {
  const suffixes = context.registries.flatMap((registry) => registry.suffixes.map((suffix) => `.${suffix}`));
  const why = name === undefined ? "This suffix is not on offer here" : `${name} is blocked`;
  const text = `${why}; the name cannot be registered through the API. Names can be registered under ${suffixes.join(", ")}.`;
  return new ApiError("domain_availability_blocked", { text });
}

function alreadyYours(request: UseCaseRequest, orderCode: string | null): ApiError {
  return new ApiError("domain_availability_taken", {
    text: "This name is not free: you registered this name.",
    ...(orderCode !== null && {
      headers: { location: `${request.prefix}${request.door.registrationPath(orderCode)}` },
    }),
  });
}

/** @returns the price that the registration agrees to, for a name with a price of its own */
async function checkAvailability(
  context: Context,
  registry: RegistryProfile,
  name: DomainName,
  { allocationToken, isUnowned }: { allocationToken: Secret | undefined; isUnowned: boolean },
) {
  const asked = await askAvailability(context, registry.id, name, { allocationToken, isUnowned });
  const { availability, fee, obstacle, takesTokens } = asked;
  if (allocationToken && takesTokens === false) {
    throw invalidField("allocation_token", "The registry of this name takes no allocation tokens: leave it out.");
  }
  if (allocationToken && obstacle === "token") {
    throw invalidField("allocation_token", "The registry does not allocate this name with this token.");
  }
  if (availability === "taken") throw new ApiError("domain_availability_taken");
  if (availability === "unknown" && isUnowned) throw unavailable(ownerRetrySeconds, registryDown);
  if (availability === "unknown") throw new ApiError("domain_availability_lookuperror");
  if (availability === "refused") {
    const text = obstacle
      ? textOfObstacle(obstacle)
      : "The registry does not offer this name for registration (reserved, blocked or premium).";
    throw new ApiError("domain_availability_blocked", { text });
  }
  return fee;
}

async function placeNewOrder(
  context: Context,
  request: UseCaseRequest,
  target: Target,
  wanted: Registration,
): Promise<Answer> {
  const code = newOrderCode(context.random, "REG");
  const { registry, suffix } = target;
  const { atCreate, later } = wanted.delegation;
  const { resellerId } = request.caller;
  const input: OrderedName = {
    years: wanted.years,
    will_renew: wanted.willRenew,
    name_servers: atCreate,
    later: later && { order_code: newOrderCode(context.random, "CHG"), name_servers: later },
    contacts: isGiven(wanted.given) ? refsOf(context, resellerId, wanted.given) : undefined,
    fee: wanted.fee,
    has_token: wanted.allocationToken && true,
    locks_name: registry.lockNewNames || undefined,
  };
  const secret = sealSecret(context.sealer, code, newAuthCode(context.random), wanted.allocationToken);
  const item = {
    order_code: code,
    reseller_id: resellerId,
    domain_name: wanted.name,
    suffix,
    registry_id: registry.id,
    input,
    found: { checked_at: wanted.checkedAt.toISOString() } satisfies FoundName,
    secret_sealed: byteaText(secret),
    at: context.clock.now(),
    traceparent: request.traceparent(),
  };
  const answer = accepted(request, request.door.registrationPath(code), wanted.expectedSeconds);
  const outcome = await commitOrder(context, request, { item, given: wanted.given }, answer);
  if (outcome === "placed") return answer;
  // Other orders were committed after the facts were read: the index of names, or the account's count, decided the race.
  const { live, expectedSeconds } = await checkFacts(context, request, wanted.name, target);
  if (live === undefined) {
    throw outcome === "taken" ? new ApiError("domain_availability_taken") : paidLimitReached(context.clock.now());
  }
  refuseOtherContacts(context, request, wanted.given, live);
  return answerLiveOrder(context, request, live.orderCode, expectedSeconds);
}

/** Answers with the order that exists: the name is the idempotency key. */
async function answerLiveOrder(context: Context, request: UseCaseRequest, code: string, expectedSeconds: number) {
  const answer = accepted(request, request.door.registrationPath(code), expectedSeconds);
  await context.database.transaction((tx) => request.commit(tx, answer));
  return answer;
}
