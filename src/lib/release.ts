import manifest from "../../package.json" with { type: "json" };

/** Of this process, as in 0.1.0. */
export const release: string = manifest.version;

/** Whether one release came before another; what follows a hyphen does not count. */
export function isOlder(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => text.split("-", 1)[0]!.split(".").map(Number));
  const different = first!.findIndex((part, place) => part !== second![place]);
  return different >= 0 && first![different]! < second![different]!;
}
