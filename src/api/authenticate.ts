/**
 * The checks before a use case, in a fixed order: header format, timestamp, the source address's budget of failures,
 * key and signature, address, nonce, rate limit, nonce reserved. A 401 counts against the source address and reports
 * that budget in the rate-limit headers; later checks count against the reseller.
 */
import { BlockList, isIPv6 } from "node:net";
import type { ReplayGuard } from "#api/replay/replay.ts";
import { judgeSignedTimes } from "#api/signed-times.ts";
import { type Credentials, readCredentials, type WireRequest } from "#api/signing/credentials.ts";
import { findSigner } from "#api/signing/signer.ts";
import {
  createSourceGuard,
  createUnsignedLimit,
  type Refusal,
  tooManyRequests,
  type UnsignedLimit,
} from "#api/source-guard.ts";
import type { Context } from "#context.ts";
import { type Counts, createCounts } from "#front/counts.ts";
import { createSourceBudget, type RateLimit } from "#front/rate-limit.ts";
import { type ApiKey, createKeyStore } from "#resellers/key-store.ts";
import { findCommittedAnswer } from "#use-case/stored-answers.ts";
import type { Answer, Caller, SignedTimes, TimesJudgement } from "#use-case/use-case.ts";

export const rateWindowMs = 60_000;
/** Failures still allowed from a crowded address for a key that was good there recently. */
const knownGoodFailuresMax = 10;

export interface Authenticated {
  key: ApiKey;
  credentials: Credentials;
  /** As of the last request that was counted. */
  rateLimit: RateLimit;
  /** Counts further requests of the reseller. @throws ApiError `rate_limit_exceeded`, and counts nothing, if they exceed the limit */
  takeRequests(count: number): Promise<void>;
  judgeTimes: Authenticator["judgeTimes"];
  /** The caller as the key is now; undefined when it may not be used any more. */
  callerNow(): Promise<Caller | undefined>;
  /** Identifies the request's content, so that a resend is recognised. */
  digest(): Buffer;
  /** The stored answer, when this request is an identical resend of a committed write. */
  replayed: Answer | undefined;
  /** The nonce is in the database, with the answer of this very request. */
  isStored: boolean;
  /** Counts that another process has answered this nonce. @returns the error to throw */
  refuseReused(): Refusal;
}

export interface Authenticator {
  /** @throws Refusal; DatabaseUnavailable */
  authenticate(request: WireRequest): Promise<Authenticated>;
  /** Counts a request that needs no signature. @throws Refusal when its source has sent too many */
  takeUnsigned(request: WireRequest, limit: UnsignedLimit): RateLimit;
  /** The limit that an answer reports when the request is not authenticated. */
  sourceLimit(sourceAddress: string): RateLimit;
  /** What the check of the timestamp says about these times now. */
  judgeTimes(signed: SignedTimes | undefined): TimesJudgement;
}

export interface AuthenticatorOptions {
  replayGuard: ReplayGuard;
  windowSeconds: number;
  sourceFailuresMax: number;
  /** Default: those of this thread alone. */
  counts?: Counts | undefined;
}

/**
 * Makes the checks that every request passes first. Keys are read from the database and cached; failures and requests
 * are counted where `counts` says.
 */
export function createAuthenticator(context: Context, options: AuthenticatorOptions): Authenticator {
  const { clock, sealer } = context;
  const { replayGuard } = options;
  const keys = createKeyStore(context);
  const { sourceFailuresMax: failuresMax, counts = createCounts({ clock, windowMs: rateWindowMs }) } = options;
  const limiter = counts.requests;
  const sources = createSourceBudget({ ...counts, failuresMax, knownGoodFailuresMax });
  const guard = createSourceGuard(sources);

  /** The answer of the committed write that came with this nonce. @throws Refusal when it was another request */
  async function findReplayed(request: WireRequest, { keyId, nonce }: Credentials, digest: Buffer): Promise<Answer> {
    guard.requireBudget(request, keyId);
    const replayed = await findCommittedAnswer(context, { keyId, nonce, digest });
    // Count the failure before the source's next request gets its turn.
    if (!replayed || replayed === "other") throw guard.refuse(request, "authorization_nonce_reused", keyId);
    return replayed;
  }

  const judgeTimes = (signed: SignedTimes | undefined) => judgeSignedTimes(clock, options, signed);

  return {
    sourceLimit: (sourceAddress) => sources.check(sourceAddress),
    judgeTimes,

    takeUnsigned: createUnsignedLimit(counts.unsigned),

    async authenticate(request) {
      const credentials = readCredentials(request);
      if (!credentials) {
        guard.requireBudget(request);
        throw guard.refuse(request, "auth_authorization_header_invalid_format");
      }
      const { keyId, nonce, timestamp } = credentials;
      const { problem } = judgeTimes(credentials);
      if (problem !== undefined) throw guard.refuse(request, "authorization_timestamp_invalid", keyId, problem);
      const key = await findSigner(keys, guard, request, credentials);
      if (!isAllowedAddress(request.sourceAddress, key.allowedAddresses)) {
        throw guard.refuse(request, "authorization_ip_not_allowed", keyId);
      }
      sources.noteGood(request.sourceAddress, keyId);

      const callerNow = async () => (keys.findCached(keyId) ?? (await keys.findFresh(keyId)))?.caller;
      // Computed on demand: a read does not need it.
      const digest = () =>
        sealer.hmac("request", Buffer.concat([Buffer.from(`${request.method} ${request.target}\n`), request.body]));
      const refuseReused = () => guard.refuse(request, "authorization_nonce_reused", keyId);
      const checked = { key, credentials, digest, judgeTimes, callerNow, isStored: false, refuseReused };
      if (replayGuard.isUsed(keyId, nonce)) {
        const replayed = await guard.inTurn("guess", request, keyId, () =>
          findReplayed(request, credentials, digest()),
        );
        return { ...checked, replayed, ...(await takeFromReseller(limiter, key)) };
      }
      // What is counted here is not awaited, so a concurrent twin cannot pass the same checks in between and count, too.
      const taken = takeFromReseller(limiter, key);
      const counted = taken instanceof Promise ? await taken : taken;
      if (!replayGuard.reserve(keyId, nonce, timestamp)) throw refuseReused();
      return { ...checked, replayed: undefined, ...counted };
    },
  };
}

type Counted = Pick<Authenticated, "rateLimit" | "takeRequests">;

/** Counts a request of the key's reseller. @throws Refusal when it exceeds the limit; DatabaseUnavailable */
function takeFromReseller(limiter: Counts["requests"], key: ApiKey): Counted | Promise<Counted> {
  const take = (count: number) => limiter.take(String(key.caller.resellerId), key.rateLimit, count);
  const counted = (rateLimit: RateLimit): Counted => {
    if (!rateLimit.allowed) throw tooManyRequests(rateLimit);
    return {
      rateLimit,
      async takeRequests(count) {
        if (count === 0) return;
        this.rateLimit = await take(count);
        if (!this.rateLimit.allowed) throw tooManyRequests(this.rateLimit).error;
      },
    };
  };
  const rateLimit = take(1);
  return rateLimit instanceof Promise ? rateLimit.then(counted) : counted(rateLimit);
}

function isAllowedAddress(address: string, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const ranges = new BlockList();
  for (const entry of allowed) {
    const [base, prefix] = entry.split("/") as [string, string | undefined];
    const family = isIPv6(base) ? "ipv6" : "ipv4";
    if (prefix === undefined) ranges.addAddress(base, family);
    else ranges.addSubnet(base, Number(prefix), family);
  }
  return ranges.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
