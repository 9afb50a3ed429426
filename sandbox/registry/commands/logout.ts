import type { CommandHandler } from "../registry.ts";

/** RFC 5730 §2.9.1.2: 1500, and the server closes the connection. */
export const logout: CommandHandler = () => ({ code: 1500 });
