/** The seed of the property tests: the same on every run, so that a failure is everybody's; another one on demand. */
export const seed = Number(process.env.PROPERTY_SEED ?? 20_261_121);
