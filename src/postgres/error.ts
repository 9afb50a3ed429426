/** Why the embedded PostgreSQL cannot run, in one sentence for the user who started us that says what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}
