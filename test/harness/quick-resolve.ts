/**
 * Preloaded by test/run.ts into each test file's process: a file that is imported with its whole name is where the name says.
 * Node otherwise looks each up on the disk, for each of the 800 modules of a gateway: 1.35 s CPU to import it, 1.05 s with this.
 */
import { registerHooks } from "node:module";

const source = new URL("../../src/", import.meta.url).href;
const formats = [
  [".ts", "module-typescript"],
  [".mjs", "module"],
] as const;

registerHooks({
  resolve(specifier, context, next) {
    const format = formats.find(([ending]) => specifier.endsWith(ending))?.[1];
    if (format && specifier.startsWith("#")) return { url: source + specifier.slice(1), format, shortCircuit: true };
    if (format && specifier.startsWith(".") && context.parentURL) {
      return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
    }
    return next(specifier, context);
  },
});
