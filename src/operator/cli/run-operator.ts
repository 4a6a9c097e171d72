import { stopSignal } from "../../command-line/stop-signal.ts";
import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { createLogger, type LogLevel } from "../../telemetry/create-logger.ts";
import { MetricsRegistry } from "../../telemetry/metrics-registry.ts";
import { operatorConfig, type OperatorFlags } from "../config.ts";
import { runOperator as run } from "../operator.ts";

/** Flags of `vaultsync operator`. */
export type RunFlags = OperatorFlags & { readonly logLevel: LogLevel };

/** Runs the operator in this process until it is stopped. @throws Error when the lease was lost */
export async function runOperator({ logLevel, ...flags }: RunFlags): Promise<void> {
  const logger = createLogger({ name: "operator", level: logLevel });
  const metrics = new MetricsRegistry();
  metrics.addProcessMetrics();
  const deps = { clock: systemClock, random: systemRandom, logger, metrics };
  await run(operatorConfig(flags), deps, stopSignal());
}
