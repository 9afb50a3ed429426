/** Keeps one core busy until the parent is gone: what a machine under load is like without an attack. */
process.once("disconnect", () => process.exit());
setImmediate(function spin() {
  for (let round = 0; round < 10_000; round++) Math.hypot(round, round);
  setImmediate(spin);
});
