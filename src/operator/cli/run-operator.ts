import type { Command } from "commander";
import { ZodError, type z } from "zod";
import { stopSignal } from "../../command-line/stop-signal.ts";
import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { createLogger, type LogLevel } from "../../telemetry/create-logger.ts";
import { MetricsRegistry } from "../../telemetry/metrics-registry.ts";
import { operatorConfig, type OperatorConfig, type OperatorFlags } from "../config.ts";
import { runOperator as run } from "../operator.ts";
import { isObject } from "../../lib/is-object.ts";
import { printable } from "../../lib/printable.ts";

/** Returns the rejected value, if it is text. Settings contain no secrets. */
function foundAt(flags: unknown, path: readonly PropertyKey[]): string {
  let value = flags;
  for (const name of path) {
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isObject(value) ? value[String(name)] : undefined;
  }
  return typeof value === "string" ? `, found ${JSON.stringify(value)}` : "";
}

/**
 * Returns one line for each setting that is refused: its flag and variable, what is expected, and
 * what was found.
 */
function configErrors(error: z.ZodError, flags: object, { options }: Command): string {
  const lines = error.issues.map(({ code, path, message }) => {
    const option = options.find((one) => one.attributeName() === path[0]);
    const name = `${option?.long ?? String(path[0])} (${option?.envVar ?? "no variable"})`;
    // The text of a rule between several settings names what it is about.
    const found = code === "custom" && path.length === 1 ? "" : foundAt(flags, path);
    return printable(`error: ${name}: ${message}${found}`);
  });
  return lines.join("\n");
}

/** Flags of `vaultsync operator`. */
export type RunFlags = OperatorFlags & { readonly logLevel: LogLevel };

/** @throws CommanderError for settings that the operator refuses */
function configOf(flags: OperatorFlags, command: Command): OperatorConfig {
  try {
    return operatorConfig(flags);
  } catch (error) {
    if (error instanceof ZodError) return command.error(configErrors(error, flags, command));
    throw error;
  }
}

/**
 * Runs the operator in this process until it is stopped.
 * @throws CommanderError for settings that it refuses, Error when the lease was lost
 */
export async function runOperator(
  { logLevel, ...flags }: RunFlags,
  command: Command,
): Promise<void> {
  const config = configOf(flags, command);
  const logger = createLogger({ name: "operator", level: logLevel });
  const metrics = new MetricsRegistry();
  metrics.addProcessMetrics();
  const deps = { clock: systemClock, random: systemRandom, logger, metrics };
  using stop = stopSignal();
  await run(config, deps, stop.signal);
}
