/** Which known name somebody meant. */

/** Two shorter names are often one typing mistake apart without meaning the same. */
const typoLettersMin = 4;

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** The same letters in another style, or one typing mistake. */
export function isAlmost(given: string, known: string): boolean {
  const [left, right] = [lettersOf(given), lettersOf(known)];
  return (
    left === right || (Math.min(left.length, right.length) >= typoLettersMin && mistakesBetween(left, right) === 1)
  );
}

/** The known name with the fewest typing mistakes, unless every other letter would be one. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, mistakes: mistakesBetween(lettersOf(given), lettersOf(name)) }))
    .filter(({ name, mistakes }) => mistakes <= Math.min(name.length, given.length) / 2)
    .sort((left, right) => left.mistakes - right.mistakes);
  return ranked[0]?.name;
}

/** A name that is longer than this is not compared letter by letter. */
const comparedLettersMax = 64;

/** How many letters were left out, added, replaced, or swapped with their neighbour (optimal string alignment distance). */
function mistakesBetween(left: string, right: string): number {
  if (left.length > comparedLettersMax) return left.length;
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at++) {
    const next = [at];
    for (let to = 1; to <= right.length; to++) {
      const isSame = left[at - 1] === right[to - 1];
      let mistakes = Math.min(row[to]! + 1, next[to - 1]! + 1, row[to - 1]! + Number(!isSame));
      const isSwapped = at > 1 && to > 1 && left[at - 1] === right[to - 2] && left[at - 2] === right[to - 1];
      if (isSwapped) mistakes = Math.min(mistakes, before[to - 2]! + 1);
      next.push(mistakes);
    }
    [before, row] = [row, next];
  }
  return row.at(-1)!;
}
