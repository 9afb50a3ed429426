/** docs/security.md names the tests of each row. Operators read it without them; contributors have a page with them. */

/** @param text docs/security.md */
export function splitTests(text: string): { forOperators: string; forContributors: string } {
  let hasTests = false;
  const lines = text.split("\n").map((line) => {
    const isRow = line.startsWith("|");
    if (!isRow) hasTests = false;
    else if (/\| tests \|$/.test(line)) hasTests = true;
    return isRow && hasTests ? line.replace(/ ?(?:[^|\\]|\\.)*\|$/, "").trimEnd() : line;
  });
  return {
    forOperators: lines
      .join("\n")
      .replace(
        /Every row of the\s+tables names the tests[^.]*\./,
        "Every row has tests: [their list](tested-attacks.md).",
      ),
    forContributors: text.replace(/^# .*$/m, "# Attacks and their tests"),
  };
}
