import { answerOf, arrayBody, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type { Answer, CallOptions } from "./types.ts";

/** A name beside the platform's one at which an account's site answers, once control over it is proven. */
export interface HostName {
  host_name: string;
  status: "Waiting" | "Proven";
  /** What has to be in the DNS, but for names of your own portfolio. */
  record: { name: string; type: "TXT"; value: string };
  proven_by?: "dns" | "portfolio";
  /** Why it is not proven, or what was wrong at the last look. */
  reason?: string;
  created_at: string;
  checked_at?: string;
  next_check_at?: string;
}

/** The calls about an account's host names. */
export interface HostNameCalls {
  /** All of them. */
  listHostNames(identifier: string, options?: CallOptions): Promise<Answer<HostName[]>>;
  getHostName(identifier: string, hostName: string, options?: CallOptions): Promise<Answer<HostName>>;
  /** Adds it, or has it looked at again at once; `getHostName` has the record to set. */
  addHostName(identifier: string, hostName: string, options?: CallOptions): Promise<Answer<undefined>>;
  /** The site stops answering there within seconds. */
  removeHostName(identifier: string, hostName: string, options?: CallOptions): Promise<Answer<undefined>>;
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

    async addHostName(identifier, hostName, { signal } = {}) {
      return answerOf(await send({ method: "PUT", path: pathOf(identifier, hostName), signal }), undefined);
    },

    async removeHostName(identifier, hostName, { signal } = {}) {
      return answerOf(await send({ method: "DELETE", path: pathOf(identifier, hostName), signal }), undefined);
    },
  };
}
