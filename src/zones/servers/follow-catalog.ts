/** Issues a serial of the catalog for zones that come and go, and tells the name servers. */
import type { Context } from "#context.ts";
import { catalogName, raiseCatalog, readCatalog } from "#zones/servers/catalog.ts";
import type { Notifier } from "#zones/servers/notify.ts";
import { isFed, readServers } from "#zones/servers/rows.ts";

const afterFailureMs = 5_000;

/** Goes on until it is closed. Any number of workers may do it. */
export function startCatalog(context: Context, notifier: Notifier): { close(): Promise<void> } {
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let turn = Promise.resolve();
  const look = async () => {
    const nextMs = await raiseAndTell(context, notifier).catch((error: unknown) => {
      context.log.warn({ err: error }, "the catalog of zones could not be looked at");
      return afterFailureMs;
    });
    if (!isClosed) timer = setTimeout(go, nextMs);
  };
  const go = () => {
    turn = look();
  };
  go();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await turn;
    },
  };
}

async function raiseAndTell(context: Context, notifier: Notifier): Promise<number> {
  const { isRaised, nextMs } = await raiseCatalog(context);
  if (isRaised) await tellCatalog(context, notifier);
  return nextMs;
}

async function tellCatalog(context: Context, notifier: Notifier): Promise<void> {
  const now = context.clock.now();
  const [servers, catalog] = await Promise.all([readServers(context), readCatalog(context)]);
  const fed = servers.filter((server) => isFed(server, now));
  if (catalog) await notifier.tell(fed, catalogName(catalog.label));
}
