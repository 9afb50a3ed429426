import { answerOf, arrayBody, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type { Answer, CallOptions, HostName, WriteOptions } from "./types.ts";

/** The calls for an account's host names. */
export interface HostNameCalls {
  /** All host names of the account. */
  listHostNames(identifier: string, options?: CallOptions): Promise<Answer<HostName[]>>;
  getHostName(identifier: string, hostName: string, options?: CallOptions): Promise<Answer<HostName>>;
  /** Adds a host name, or checks it again at once; `getHostName` returns the record to set. */
  addHostName(identifier: string, hostName: string, options?: WriteOptions): Promise<Answer<undefined>>;
  /** The site stops answering there within seconds. */
  removeHostName(identifier: string, hostName: string, options?: WriteOptions): Promise<Answer<undefined>>;
}

export function hostNameCalls(send: Send): HostNameCalls {
  const hostsOf = (identifier: string) => `/hostingaccounts/${encodeURIComponent(identifier)}/hosts`;
  const pathOf = (identifier: string, hostName: string) => `${hostsOf(identifier)}/${encodeURIComponent(hostName)}`;
  return {
    async listHostNames(identifier, { signal } = {}) {
      const reply = await send({ method: "GET", path: hostsOf(identifier), signal });
      return answerOf(reply, arrayBody<HostName>(reply));
    },

    async getHostName(identifier, hostName, { signal } = {}) {
      const reply = await send({ method: "GET", path: pathOf(identifier, hostName), signal });
      return answerOf(reply, objectBody<HostName>(reply));
    },

    async addHostName(identifier, hostName, options = {}) {
      return answerOf(await send({ method: "PUT", path: pathOf(identifier, hostName), ...options }), undefined);
    },

    async removeHostName(identifier, hostName, options = {}) {
      return answerOf(await send({ method: "DELETE", path: pathOf(identifier, hostName), ...options }), undefined);
    },
  };
}
