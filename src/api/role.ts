import { createReplayGuard } from "#api/replay.ts";
import { startServer } from "#api/server.ts";
import { committedNoncesSince } from "#api/stored-answers.ts";
import { buildContext } from "#build-context.ts";
import type { Config } from "#config.ts";
import { statement } from "#db/statement.ts";
import { openDoor } from "#hosting/channel/door.ts";
import { unixSeconds } from "#lib/clock.ts";
import type { Role } from "#role.ts";
import { startWatch } from "#watch/look-around.ts";

const anyKeyUsed = statement("api-first-start", "SELECT NOT EXISTS (SELECT FROM replay_journals) AS is_first", {
  is_first: "bool",
});
const rememberStart = statement("api-started", "INSERT INTO replay_journals (started_at) VALUES ($1)", {});

/** The role `api`. */
export async function startApi(config: Config): Promise<Role> {
  const context = buildContext(config, "api");
  const { clock, log, database } = context;
  const windowSeconds = config.signatureWindowSeconds;
  const replayGuard = createReplayGuard({ journalDir: config.replayDir, clock, log, windowSeconds });
  // A database that has never seen an api cannot have lost a nonce; any other one needs its journal.
  const [first] = await database.query(anyKeyUsed, []);
  replayGuard.open(first?.is_first ?? false);
  if (first?.is_first) await database.query(rememberStart, [clock.now()]);
  const committed = await committedNoncesSince(database, unixSeconds(clock) - windowSeconds);
  replayGuard.load(committed.map(({ key_id, nonce, signed_at }) => ({ keyId: key_id, nonce, timestamp: signed_at })));
  const server = await startServer(context, {
    host: config.apiHost,
    port: config.apiPort,
    replayGuard,
    windowSeconds,
    sourceFailuresMax: config.sourceFailuresMax,
  });
  log.info({ port: server.port }, "the API is listening");
  const door = config.nodesDoor && (await openDoor(context, config.nodesDoor));
  const watch = startWatch(context);
  return {
    ready: { port: server.port, ...(door && { nodesPort: door.port }) },
    async close() {
      await Promise.all([server.close(), door?.close(), watch.close()]);
      replayGuard.close();
      await context.close();
    },
  };
}
