import type { Context } from "#context.ts";
import { ApiError } from "#errors.ts";
import { waitAtMost } from "#lib/clock.ts";
import {
  AlreadyCommitted,
  findIdempotentAnswer,
  type IdempotentRequest,
  storeIdempotentAnswer,
} from "#use-case/stored-answers.ts";
import type { Answer } from "#use-case/use-case.ts";

const keyCharsMax = 255;
/** How long a repeat waits for the first request before it is answered `idempotency_in_progress`. */
const waitMs = 10_000;

/**
 * Reads the Idempotency-Key header.
 * @throws ApiError `bad_request` when it is empty or longer than 255 characters
 */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || (header.length > 0 && header.length <= keyCharsMax)) return header;
  const text = `The Idempotency-Key header takes 1 to ${keyCharsMax} characters.`;
  throw new ApiError("bad_request", {
    text,
    validationErrors: [{ error_code: "invalid", error_text: text, field: "idempotency-key" }],
  });
}

/** Only final answers are kept: a repeat of a request that failed temporarily is a new attempt. */
function isKept(status: number): boolean {
  return status < 500 && status !== 401 && status !== 429;
}

export interface IdempotencyGate {
  /**
   * Runs `work` once per key: a repeat with the same body waits for the first and gets its answer.
   * @param context of the request
   * @param work answers every expected failure as an `Answer`, and stores a committed answer itself
   * @throws ApiError `idempotency_key_reused`, `idempotency_in_progress`
   */
  once(
    context: Context,
    request: IdempotentRequest,
    work: () => Promise<{ answer: Answer; isStored: boolean }>,
  ): Promise<Answer>;
}

/**
 * Concurrent repeats in one process wait for each other here. Across processes, a unique key in the database lets only
 * one commit.
 */
export function createIdempotencyGate(wait = waitMs): IdempotencyGate {
  const inFlight = new Map<string, Promise<void>>();
  const marked = (answer: Answer): Answer => ({
    ...answer,
    headers: { ...answer.headers, "idempotency-replayed": "true" },
  });

  async function replay(context: Context, request: IdempotentRequest): Promise<Answer | undefined> {
    const stored = await findIdempotentAnswer(context, request);
    if (stored === "reused") throw new ApiError("idempotency_key_reused");
    return stored && marked(stored);
  }

  async function runAndStore(
    context: Context,
    request: IdempotentRequest,
    work: () => Promise<{ answer: Answer; isStored: boolean }>,
  ) {
    try {
      const { answer, isStored } = await work();
      if (!isStored && isKept(answer.status)) {
        await storeIdempotentAnswer(context, context.database, request, answer);
      }
      return answer;
    } catch (error) {
      const stored = error instanceof AlreadyCommitted ? await replay(context, request) : undefined;
      if (!stored) throw error;
      return stored;
    }
  }

  return {
    async once(context, request, work) {
      const id = JSON.stringify([request.resellerId, request.method, request.path, request.key]);
      const deadline = AbortSignal.timeout(wait);
      for (let first = inFlight.get(id); first; first = inFlight.get(id)) {
        await waitAtMost(wait, first, deadline);
        if (deadline.aborted) throw new ApiError("idempotency_in_progress", { headers: { "retry-after": "1" } });
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      inFlight.set(id, promise);
      try {
        return (await replay(context, request)) ?? (await runAndStore(context, request, work));
      } finally {
        inFlight.delete(id);
        resolve();
      }
    },
  };
}
