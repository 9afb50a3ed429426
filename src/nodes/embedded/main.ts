import { type EmbeddedNodeOptions, startEmbeddedNode } from "./node.ts";

/** What the parent process is told once, over the IPC channel, when all ports are open. */
export interface EmbeddedNodeReady {
  type: "ready";
  ftpPort: number;
  webPort: number;
  controlPort: number;
}

/**
 * Runs the node as this process: until SIGTERM, SIGINT, or, when a parent started it with an IPC channel, until that
 * parent is gone.
 */
export async function runEmbeddedNode(options: EmbeddedNodeOptions): Promise<void> {
  const stop = Promise.withResolvers<void>();
  process.once("SIGTERM", stop.resolve);
  process.once("SIGINT", stop.resolve);
  process.once("disconnect", stop.resolve);
  const { ftpPort, webPort, controlPort, close } = await startEmbeddedNode(options);
  const ready: EmbeddedNodeReady = { type: "ready", ftpPort, webPort, controlPort };
  process.send?.(ready);
  await stop.promise;
  await close();
  // An open channel would keep the process alive.
  if (process.connected) process.disconnect();
}
