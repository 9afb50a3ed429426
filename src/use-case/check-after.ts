const secondsMax = 86_400;

/** The value of the header `check-after`: 1 s to 1 day. */
export function checkAfter(seconds: number): string {
  return String(Math.min(Math.max(Math.ceil(seconds), 1), secondsMax));
}
