/**
 * What people type to run this program. In a clone it is npx that finds it; where it is installed, npx could fetch another program of
 * this name.
 */
export const shellCommand = import.meta.url.endsWith(".ts") ? "npx deedhouse" : "deedhouse";
