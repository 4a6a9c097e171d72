import type { Command } from "commander";
import { ZodError } from "zod";
import { stopSignal } from "../../command-line/stop-signal.ts";
import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { createLogger, type LogLevel } from "../../telemetry/create-logger.ts";
import { MetricsRegistry } from "../../telemetry/metrics-registry.ts";
import { operatorConfig, type OperatorConfig, type OperatorFlags } from "../config.ts";
import { configErrors } from "./config-errors.ts";
import { runOperator as run } from "../operator.ts";

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
  await run(config, deps, stopSignal());
}
