/**
 * Everything that keeps api and worker from starting, found before anything listens: one list, so that nobody mends one mistake
 * after another. Each says which setting mends it.
 */
import { readNamed } from "#build-context.ts";
import { databaseMistakes } from "#checks/check-database.ts";
import { unknownVariables } from "#checks/known-variables.ts";
import { openFileMistakes, plainHttpMistakes, sandboxKeyMistakes, sandboxMistakes } from "#checks/unsafe-settings.ts";
import { type Config, childEnvironment, readConfig } from "#config.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { tracesMistakes } from "#lib/measure/send-spans.ts";
import { refuseMistakes } from "#lib/settings.ts";

export type CheckedRole = "api" | "worker";

export interface StartCheck {
  config: Config;
  mistakes: string[];
  /** The database does not answer, so it could not be looked at. */
  unavailable: DatabaseUnavailable | undefined;
}

/** @param own replaces variables of the environment */
export async function checkStart(role: CheckedRole, own: NodeJS.ProcessEnv = {}): Promise<StartCheck> {
  const environment = childEnvironment(own);
  const { config, mistakes } = readConfig(environment);
  const named = readNamed(config);
  mistakes.push(...named.mistakes, ...tracesMistakes(config.traces));
  if (role === "api") mistakes.push(...plainHttpMistakes(config));
  if (config.deployment === "production") {
    mistakes.push(
      ...sandboxKeyMistakes(config, environment),
      ...sandboxMistakes(config, named.registries ?? []),
      ...openFileMistakes(environment),
      ...unknownVariables(environment),
    );
  }
  try {
    if (config.databaseUrl !== "") mistakes.push(...(await databaseMistakes(config, role, named.sealer)));
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return { config, mistakes, unavailable: error };
    throw error;
  }
  return { config, mistakes, unavailable: undefined };
}

/**
 * The settings of a role that may start.
 * @throws WrongSetting that lists every mistake; DatabaseUnavailable when there is no other
 */
export async function requireSoundConfig(role: CheckedRole): Promise<Config> {
  const { config, mistakes, unavailable } = await checkStart(role);
  refuseMistakes(mistakes);
  if (unavailable) throw unavailable;
  return config;
}
