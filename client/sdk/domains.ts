import { followPages, pageOf, pageQuery } from "./paging.ts";
import { answerOf, arrayBody, objectBody, placedOrder } from "./response.ts";
import type { Call, Send } from "./transport.ts";
import type {
  Answer,
  Availability,
  CallOptions,
  Departure,
  Domain,
  DomainFilter,
  DomainInFull,
  DomainListOptions,
  Page,
  PageOptions,
  PlacedOrder,
  RegistrationOptions,
  RegistrationPlan,
  Renewal,
  RenewalOptions,
  WriteOptions,
} from "./types.ts";

/** The calls for domain names. */
export interface DomainCalls {
  /** One page; by default the first 25 items. */
  listDomains(options?: DomainListOptions): Promise<Page<Domain>>;
  /**
   * Every domain of the portfolio, or of the part that the filter selects. It neither skips nor repeats one, even when the portfolio changes in the meantime.
   */
  allDomains(options?: CallOptions & DomainFilter): AsyncGenerator<Domain>;
  getDomain(domainName: string, options?: CallOptions): Promise<Answer<DomainInFull>>;
  /** Whether names can be registered, in the order asked: at most 50, and each counts as a request. */
  checkAvailability(domainNames: readonly string[], options?: CallOptions): Promise<Answer<Availability[]>>;
  /** One page of names that have left the portfolio, the newest departure first. */
  listDepartures(options?: PageOptions): Promise<Page<Departure>>;
  allDepartures(options?: CallOptions): AsyncGenerator<Departure>;
  /** Orders a registration; `finished` waits for its end. */
  registerDomain(domainName: string, options?: RegistrationOptions): Promise<PlacedOrder>;
  /** Makes every check of a registration, and orders nothing. */
  checkRegistration(domainName: string, options?: RegistrationOptions): Promise<Answer<RegistrationPlan>>;
  /** Sets whether a name will renew. Rejects with `domain_renewal_underway` once the registry is carrying it out. */
  setWillRenew(domainName: string, willRenew: boolean, options?: WriteOptions): Promise<Answer<undefined>>;
  /** One page of upcoming and recent renewals, by the end of the term. */
  listRenewals(options?: RenewalOptions): Promise<Page<Renewal>>;
  allRenewals(options?: Pick<RenewalOptions, "status" | "signal">): AsyncGenerator<Renewal>;
}

function registrationCall(domainName: string, options: RegistrationOptions, isDryRun?: true): Call {
  const { years, nameServers, contacts = {}, willRenew, allocationToken, idempotencyKey, signal } = options;
  const { registrant, ...others } = contacts;
  const body = {
    domain_name: domainName,
    years,
    name_servers: nameServers,
    registrant,
    contacts: Object.keys(others).length > 0 ? others : undefined,
    will_renew: willRenew,
    allocation_token: allocationToken,
    dry_run: isDryRun,
  };
  return { method: "POST", path: "/domains/registrations", body, idempotencyKey, signal };
}
/** The query's parameters. */
export const domainFilterOf = ({ namePrefix, expiresBefore, willRenew }: DomainFilter) => ({
  name_prefix: namePrefix,
  expires_before: expiresBefore,
  will_renew: willRenew,
});

export function domainCalls(send: Send): DomainCalls {
  const getPage = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<Domain>(await send({ method: "GET", path: "/domains", query, signal }));
  const getRenewals = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<Renewal>(await send({ method: "GET", path: "/renewals", query, signal }));

  const getDepartures = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<Departure>(await send({ method: "GET", path: "/domains/departures", query, signal }));

  return {
    listDomains: (options = {}) => getPage(pageQuery(options, domainFilterOf(options)), options.signal),

    allDomains: (options = {}) => followPages(getPage, options.signal, domainFilterOf(options)),

    async getDomain(domainName, options = {}) {
      const path = `/domains/${encodeURIComponent(domainName)}`;
      const reply = await send({ method: "GET", path, signal: options.signal });
      return answerOf(reply, objectBody<DomainInFull>(reply));
    },

    async checkAvailability(domainNames, { signal } = {}) {
      const query = `?names=${encodeURIComponent(domainNames.join(","))}`;
      const reply = await send({ method: "GET", path: "/domains/availability", query, signal });
      return answerOf(reply, arrayBody<Availability>(reply));
    },

    listDepartures: (options = {}) => getDepartures(pageQuery(options), options.signal),

    allDepartures: (options = {}) => followPages(getDepartures, options.signal),

    async registerDomain(domainName, options = {}) {
      return placedOrder(await send(registrationCall(domainName, options)));
    },

    async checkRegistration(domainName, options = {}) {
      const reply = await send(registrationCall(domainName, options, true));
      return answerOf(reply, objectBody<RegistrationPlan>(reply));
    },

    async setWillRenew(domainName, willRenew, options = {}) {
      const path = `/domains/${encodeURIComponent(domainName)}/renew`;
      return answerOf(await send({ method: "PUT", path, body: { will_renew: willRenew }, ...options }), undefined);
    },

    listRenewals: (options = {}) => getRenewals(pageQuery(options, { status: options.status }), options.signal),

    allRenewals: ({ status, signal } = {}) => followPages(getRenewals, signal, { status }),
  };
}
