/** For tests: pages of sites. */
import { request } from "node:http";

export interface Page {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Asks the web port, with any Host header and any path as they are. */
export function getPage(
  port: number,
  path: string,
  headers: Record<string, string>,
  method: "GET" | "HEAD" | "POST" = "GET",
): Promise<Page> {
  return new Promise((resolve, reject) => {
    const question = request({ host: "127.0.0.1", port, path, method, headers, agent: false }, async (response) => {
      let body = "";
      for await (const chunk of response.setEncoding("utf8")) body += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    question.on("error", reject);
    question.end();
  });
}
