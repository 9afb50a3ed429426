import type { Client, Connection, FieldDef, Submittable } from "pg";
import type { Statement } from "#db/statement.ts";

/** Asks PostgreSQL to prepare a statement and to describe its result, without running it. */
export function describeStatement(client: Client, statement: Statement<unknown>): Promise<FieldDef[]> {
  const description = new Description(statement);
  client.query(description);
  return description.result;
}

/** The driver runs what it prepares; this class speaks only the first half of the extended query protocol. */
class Description implements Submittable {
  readonly name: string;
  readonly text: string;
  #fields: FieldDef[] = [];
  readonly #done = Promise.withResolvers<FieldDef[]>();

  constructor(statement: Statement<unknown>) {
    this.name = statement.name;
    this.text = statement.text;
  }

  get result(): Promise<FieldDef[]> {
    return this.#done.promise;
  }

  submit(connection: Connection): void {
    connection.parse({ name: this.name, text: this.text, types: [] }, true);
    connection.describe({ type: "S", name: this.name }, true);
    connection.sync();
  }

  // The driver calls the following methods (pg 8.23 lib/client.js).

  handleRowDescription(message: { fields: FieldDef[] }): void {
    this.#fields = message.fields;
  }

  handleReadyForQuery(): void {
    this.#done.resolve(this.#fields);
  }

  handleError(error: Error): void {
    this.#done.reject(error);
  }
}
