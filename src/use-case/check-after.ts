import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

const secondsMax = 86_400;

/** The value of the header `check-after`: 1 s to 1 day. */
export function checkAfter(seconds: number): string {
  return String(Math.min(Math.max(Math.ceil(seconds), 1), secondsMax));
}

/** 202: where to look, and after how many seconds. @param path below the request's prefix */
export function accepted({ prefix, door }: UseCaseRequest, path: string, seconds: number): Answer {
  return { status: 202, headers: { location: `${prefix}${path}`, [door.lookAgainHeader]: checkAfter(seconds) } };
}
