/** Why the embedded PostgreSQL cannot run, in one sentence that says what to do; shown to whoever started us. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}
