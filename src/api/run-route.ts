/**
 * Runs the use case of an authenticated request at most once. The nonce and the Idempotency-Key of a write lead to the
 * answer that was committed with it, whatever the client saw of the first attempt.
 */
import { answerError } from "#api/answer-error.ts";
import type { Authenticated } from "#api/authenticate.ts";
import { type IdempotencyGate, parseIdempotencyKey } from "#api/idempotency.ts";
import type { LongAnswers } from "#api/long-answers.ts";
import { openMethods } from "#api/open-routes.ts";
import type { RequestDatabase } from "#api/request-database.ts";
import type { Route } from "#api/route.ts";
import { matchRoute, type Place } from "#api/routes.ts";
import type { WireRequest } from "#api/signing/credentials.ts";
import { readTarget } from "#api/target.ts";
import type { Context } from "#context.ts";
import { ApiError } from "#errors.ts";
import { logOfRequest } from "#lib/log.ts";
import { traceparentFor } from "#lib/measure/tracing.ts";
import { wantsOnly } from "#use-case/accept.ts";
import { ignoredFields } from "#use-case/known-fields.ts";
import { requireScope } from "#use-case/scope.ts";
import {
  AlreadyCommitted,
  committedRow,
  findCommittedAnswer,
  type IdempotentRequest,
  isAlreadyCommitted,
  isNonceTaken,
  type SignedWrite,
  storeCommittedAnswer,
  storeIdempotentAnswer,
} from "#use-case/stored-answers.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

const waitSecondsMax = 30;
const noJson = Buffer.alloc(0);

export interface EdgeRequest extends WireRequest {
  requestId: string;
  /**
   * Fires when a wait must end: the client has disconnected, or this process stops. Created on demand: most requests never wait, and
   * it costs 3 µs.
   */
  signal(): AbortSignal;
  /** The trace that it belongs to, as a trusted proxy says it (W3C Trace Context). */
  traceparent?: string | undefined;
  /** The pattern of its path and its door, once they are known: for measurements. */
  measuredAs?: { door: string; route: string };
}

/** A request with its route. */
interface Call {
  route: Route;
  request: EdgeRequest;
  useCaseRequest: Omit<UseCaseRequest, "commit" | "committedRow">;
  /** Computed on demand: a read does not need its digest. */
  write(): SignedWrite;
  /** Its nonce is in the database, with its answer. */
  noteStored(): void;
  idempotent: IdempotentRequest | undefined;
}

/** What the routes of one process share. */
export interface RouteServices {
  gate: IdempotencyGate;
  longAnswers: LongAnswers;
  requestDatabase: RequestDatabase;
}

/** Never throws: every failure is an answer. */
export async function runRoute(
  context: Context,
  { gate, longAnswers, requestDatabase }: RouteServices,
  request: EdgeRequest,
  authenticated: Authenticated,
): Promise<Answer> {
  const { segments, query } = readTarget(request.target);
  const matched = matchRoute(request.method, segments);
  const log = logOfRequest(context.log, request.requestId);
  try {
    const allowed = matched?.allowed ?? openMethods(request.target);
    if (!matched && allowed.length === 0) throw new ApiError("resource_not_found");
    const route = matched?.route;
    if (matched) request.measuredAs = { door: matched.prefix === "/v2" ? "v2" : "v1", route: route?.path ?? "none" };
    if (!route) throw new ApiError("method_not_allowed", { headers: { allow: allowed.join(", ") } });
    requireScope(authenticated.key.caller, route.useCase.scope);
    const call = openCall(context, route, { ...matched, query, longAnswers }, request, authenticated);
    const { resellerId } = authenticated.key.caller;
    // The first parameter of a path names what the request is about.
    const subject = isRead(route) ? undefined : Object.values(matched.params)[0];
    const ownContext = { ...context, log, database: requestDatabase({ resellerId, subject }) };
    return isRead(route) ? (await runOnce(ownContext, call)).answer : await runWrite(ownContext, gate, call);
  } catch (error) {
    // The use case has already turned its errors into answers: this is about headers, and names that the use case does not
    // know.
    return answerError(log, error, ["bad_request", "invalid_paging_request"]);
  }
}

const isRead = ({ method, useCase }: Route) => method === "GET" || useCase.changesNothing;

/** @throws ApiError when a header is not valid, or a field or parameter is not known */
function openCall(
  context: Context,
  route: Route,
  { path, prefix, door, params, query, longAnswers }: Place & { query: URLSearchParams; longAnswers: LongAnswers },
  request: EdgeRequest,
  authenticated: Authenticated,
): Call {
  const { key, credentials, digest } = authenticated;
  const { keyId, nonce, timestamp } = credentials;
  const takeRequests = (count: number) => authenticated.takeRequests(count);
  const { headers, body, signal } = request;
  const idempotencyKey = isRead(route) ? undefined : parseIdempotencyKey(headers["idempotency-key"]);
  const waitSeconds = parseWait(headers.prefer);
  const contentType = /^[^;]*/
    .exec(headers["content-type"] ?? "")![0]
    .trim()
    .toLowerCase();
  const isZoneFile = route.useCase.docs.takesZoneFile && contentType === "text/dns";
  const rawBody = isZoneFile ? noJson : body;
  const ignored = ignoredFields(route.useCase.docs, { takesMore: route.takesMore ?? false, query, rawBody });
  return {
    route,
    request,
    useCaseRequest: {
      prefix,
      door,
      params,
      query,
      caller: key.caller,
      rawBody: body,
      ignored,
      signal,
      traceparent: () => traceparentFor(request.traceparent),
      waitSeconds,
      takeRequests,
      judgeTimes: authenticated.judgeTimes,
      wantsOnly: (contentType) => wantsOnly(headers.accept, contentType),
      contentType,
      ifMatch: headers["if-match"],
      lastEventId: headers["last-event-id"],
      beginLong: (kind) => longAnswers.begin(kind, authenticated),
      callerNow: () => authenticated.callerNow(),
    },
    write: () => ({ keyId, nonce, timestamp, digest: digest() }),
    noteStored() {
      authenticated.isStored = true;
    },
    idempotent:
      idempotencyKey === undefined
        ? undefined
        : {
            resellerId: key.caller.resellerId,
            method: route.method,
            path,
            key: idempotencyKey,
            bodyMac: context.sealer.hmac("idempotency", body),
          },
  };
}

/**
 * A nonce that was released after a 5xx may belong to a write that committed unseen, here or in another process. A
 * write that commits notices it by the unique key of its nonce; a write that does not commit must look.
 */
async function runWrite(context: Context, gate: IdempotencyGate, call: Call): Promise<Answer> {
  try {
    if (!call.idempotent) {
      const { answer, isStored } = await runOnce(context, call);
      return isStored ? answer : ((await findOwnAnswer(context, call)) ?? answer);
    }
    // Look before anything is stored under the Idempotency-Key.
    const committed = await findOwnAnswer(context, call);
    return committed ?? (await gate.once(context, call.idempotent, () => runOnce(context, call)));
  } catch (error) {
    if (!(error instanceof AlreadyCommitted)) throw error;
    // A write has been committed under this nonce since: by this very request in another process, or by another request.
    const stored = await findOwnAnswer(context, call);
    if (!stored) throw error;
    return stored;
  }
}

/** The stored answer of this very write. @throws ApiError when its nonce belongs to another committed request */
async function findOwnAnswer(context: Context, call: Call): Promise<Answer | undefined> {
  const committed = await findCommittedAnswer(context, call.write());
  if (committed === "other") throw nonceReused();
  if (committed) call.noteStored();
  return committed;
}

const nonceReused = () => new ApiError("authorization_nonce_reused");

/** @throws AlreadyCommitted */
async function runOnce(context: Context, { route, request, useCaseRequest, write, noteStored, idempotent }: Call) {
  let stored: Answer | undefined;
  let isCommitted = false;
  const commit: UseCaseRequest["commit"] = async (tx, answer) => {
    storeCommittedAnswer(context, tx, write(), answer);
    if (idempotent) await storeIdempotentAnswer(context, tx, idempotent, answer);
    isCommitted = true;
  };
  const rowOf: UseCaseRequest["committedRow"] = (answer) => {
    if (idempotent) return undefined;
    stored = answer;
    return committedRow(write(), answer);
  };
  try {
    const answer = await route.useCase.handle(context, { ...useCaseRequest, commit, committedRow: rowOf });
    if (isCommitted || stored) {
      const { keyId, nonce } = write();
      context.acknowledged.addRequest({ keyId, nonce, name: nameOf(request, answer) });
    }
    // After a commit the answer may say more than the stored one: the caller was ready to wait for the end.
    const isStored = isCommitted || answer === stored;
    if (isStored) noteStored();
    return { answer, isStored };
  } catch (error) {
    if (error instanceof AlreadyCommitted) throw error;
    if (isAlreadyCommitted(error)) throw new AlreadyCommitted();
    if (isNonceTaken(error)) return { answer: answerError(context.log, nonceReused(), []), isStored: false };
    return { answer: answerError(context.log, error, route.useCase.errors), isStored: false };
  }
}

/** The code of the order, or else what was requested. */
function nameOf({ method, target }: EdgeRequest, { headers }: Answer): string {
  return headers?.location?.split("/").at(-1) ?? `${method} ${target}`;
}

/** `Prefer: wait=N` (RFC 7240 §4.3), at most 30 s. */
function parseWait(prefer: string | undefined): number {
  const seconds = /(?:^|[,;\s])wait=([0-9]{1,9})(?:$|[,;\s])/i.exec(prefer ?? "")?.[1];
  return Math.min(Number(seconds ?? 0), waitSecondsMax);
}
