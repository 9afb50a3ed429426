/** Answers in parts: of any length, at constant memory. */
import type { ServerResponse } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { TLSSocket } from "node:tls";

/** How long a client may take nothing of an answer. */
const stalledMsDefault = 60_000;

export interface PartsWriter {
  /**
   * Asks for a part when the client has taken the one before. If the parts fail, it cuts the connection: the client must not take
   * half an answer for a whole one. If the client has disconnected, it asks for none. Closes the parts in every case.
   */
  write(response: ServerResponse, parts: Readable): void;
  /** Cuts the answers in progress, which a slow client could take for hours, and those that begin later. */
  cutAll(): void;
}

/** The writer of one server. */
export function createPartsWriter(stalledMs = stalledMsDefault): PartsWriter {
  const inProgress = new Set<Readable>();
  let isClosing = false;
  const stop = (parts: Readable) => parts.destroy(new Error("the server closes"));
  return {
    write(response, parts) {
      // `pipeline` throws for a response that is closed already.
      if (response.destroyed) {
        parts.destroy();
        return;
      }
      inProgress.add(parts);
      parts.once("close", () => inProgress.delete(parts)).once("error", () => cut(response));
      response.setTimeout(stalledMs, () => response.destroy());
      pipeline(parts, response, () => {});
      if (isClosing) stop(parts);
    },
    cutAll() {
      isClosing = true;
      for (const parts of inProgress) stop(parts);
    },
  };
}

/**
 * With HTTP/1.0, an answer of unknown length ends with its connection: only a reset shows the client that the answer is
 * incomplete.
 */
function cut({ socket }: ServerResponse): void {
  if (socket === null || socket instanceof TLSSocket) socket?.destroy();
  else socket.resetAndDestroy();
}
