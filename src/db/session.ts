/**
 * A connection whose session is ready for our statements. One statement says what the database is like and makes the settings;
 * a second one, sent with it, reads them back. So no connection is used that leads to a database that we refuse, whether it is
 * the first one of a process or comes after a failover.
 */
import { Client, escapeLiteral } from "pg";
import type { SessionConfig } from "#db/connection.ts";
import { UnfitDatabase } from "#db/errors.ts";
import { type DatabaseFacts, judgeFacts, readFacts, refusalOf, selectFacts, sessionMark } from "#db/facts.ts";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";

/** The SQLSTATE of the messages of `notify_after_commit` (db/functions): the text is the channel, the detail the payload. */
export const askedState = "DHNFY";

export interface Notification {
  channel: string;
  payload: string;
}

const nowMs = () => systemClock.now().getTime();

export class SessionClient extends Client {
  readonly #session: SessionConfig["session"];
  #facts: DatabaseFacts | undefined;
  #asked: Notification[] = [];

  constructor(config: SessionConfig) {
    super(config);
    this.#session = config.session;
    // A query in progress gets the error as well. Without a listener, it would end the process.
    this.on("error", () => {});
    this.on("notice", ({ code, message = "", detail = "" }) => {
      if (code === askedState) this.#asked.push({ channel: message, payload: detail });
    });
  }

  /** The notifications that statements have asked for since the last call: for after their commit. */
  takeAsked(): Notification[] {
    const asked = this.#asked;
    if (asked.length > 0) this.#asked = [];
    return asked;
  }

  /** Of this session, as it was when it began. */
  get facts(): DatabaseFacts {
    if (!this.#facts) throw new Error("the session has not begun");
    return this.#facts;
  }

  /** @throws UnfitDatabase; the driver's error */
  override connect(): Promise<Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
    const begun = this.#begin();
    if (!callback) return begun;
    // The pool reads the absence of an error as success.
    begun.then(() => callback(undefined as unknown as Error), callback);
    return undefined;
  }

  async #begin(): Promise<Client> {
    await super.connect();
    try {
      this.#facts = await this.#readFacts();
      this.refuse(this.#facts);
      return this;
    } catch (error) {
      this.end().catch(() => {});
      throw error;
    }
  }

  /** @throws UnfitDatabase */
  protected refuse(facts: DatabaseFacts): void {
    const refusal = refusalOf(judgeFacts(facts, this.#session.demands));
    if (refusal !== undefined) throw new UnfitDatabase(refusal);
  }

  /** Makes the settings, and reads the facts as they are before that. @throws the driver's error */
  async #readFacts(): Promise<DatabaseFacts> {
    const { settings } = this.#session;
    const all = Object.entries({ ...settings, [sessionMark]: systemRandom.uuid() });
    const set = all.map(([name, value]) => `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, false)`);
    const show = all.map(([name]) => `current_setting(${escapeLiteral(name)}, true)`);
    const sentMs = nowMs();
    // OFFSET 0 keeps the two parts apart: the facts are those before the settings.
    const [begun, shown] = await Promise.all([
      this.query<{ facts: string; settings: string }>(
        `SELECT found.facts, concat_ws(' ', ${set}) AS settings FROM (${selectFacts} OFFSET 0) AS found`,
      ).then((answer) => ({ answer, receivedMs: nowMs() })),
      this.query<{ settings: string }>(`SELECT concat_ws(' ', ${show}) AS settings`),
    ]);
    const row = begun.answer.rows[0]!;
    const facts = readFacts(row.facts, sentMs, begun.receivedMs);
    return { ...facts, isShared: facts.isShared || shown.rows[0]!.settings !== row.settings };
  }
}
