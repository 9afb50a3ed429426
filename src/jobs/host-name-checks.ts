/** Asks name servers about host names, on places of their own: those that do not answer hold nobody's account up. */
import type { Context } from "#context.ts";
import { checkHostName } from "#hosting/host-names/check.ts";
import { createTxtLookup } from "#hosting/host-names/dns.ts";
import { endQuestion, type Question, questionsChannel, takeQuestions } from "#hosting/host-names/questions.ts";
import { sleep } from "#lib/clock.ts";

/** Most of them only wait for a name server. */
const placesMax = 16;
/** Questions are announced; this finds what a worker that died has left, and what could not be taken. */
const lookAroundMs = 10_000;

/** Asks about host names until it is closed. */
export function startHostNameChecks(context: Context): { close(): Promise<void> } {
  const { log, listener } = context;
  const lookup = createTxtLookup(context.dnsServers);
  const closing = new AbortController();
  const atWork = new Set<Promise<void>>();
  let taking: Promise<void> | undefined;
  let isCalled = false;

  async function answer(question: Question): Promise<void> {
    try {
      await checkHostName(context, question.id, lookup);
      await endQuestion(context, question);
    } catch (error) {
      log.warn(
        { err: error, hostName: question.id },
        "a host name could not be looked at; it is tried again in a minute",
      );
    }
  }

  function begin(question: Question): void {
    const work = answer(question).then(() => {
      atWork.delete(work);
      fill();
    });
    atWork.add(work);
  }

  async function takeAll(): Promise<void> {
    while (isCalled && !closing.signal.aborted) {
      isCalled = false;
      const free = placesMax - atWork.size;
      if (free === 0) return;
      const taken = await takeQuestions(context, free);
      for (const question of taken) begin(question);
    }
  }

  /** Whatever is called for while questions are being taken is looked at after that. */
  function fill(): void {
    isCalled = true;
    taking ??= takeAll()
      .catch((error: unknown) => log.warn({ err: error }, "questions about host names could not be taken"))
      .finally(() => {
        taking = undefined;
        if (isCalled && !closing.signal.aborted) fill();
      });
  }

  async function lookAround(): Promise<void> {
    while (!closing.signal.aborted) {
      fill();
      await sleep(lookAroundMs, closing.signal);
    }
  }

  const stopListening = listener.on(questionsChannel, fill);
  const looking = lookAround();
  return {
    async close() {
      stopListening();
      closing.abort();
      lookup.close();
      await Promise.all([looking, taking]);
      // What was begun in the last moment too.
      lookup.close();
      await Promise.all(atWork);
    },
  };
}
