import { Command, InvalidArgumentError, Option } from "commander";
import { systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { operatorConfig, type OperatorFlags } from "../operator/config.ts";
import { runOperator } from "../operator/operator.ts";
import { createLogger, type LogLevel } from "../telemetry/create-logger.ts";
import { MetricsRegistry } from "../telemetry/metrics-registry.ts";
import { parseListenAddress } from "./listen-address.ts";
import { stopSignal } from "./stop-signal.ts";

function whole(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError("write a whole number, 0 or more");
  return value;
}

const list = (text: string): string[] => text.split(",").map((part) => part.trim());

function option(flags: string, description: string): Option {
  const name = /--([a-z-]+)/.exec(flags)?.[1] ?? "";
  return new Option(flags, description).env(`VAULTSYNC_${name.replaceAll("-", "_").toUpperCase()}`);
}

const options = [
  option("--kubeconfig <path>", "how to reach the API server; otherwise KUBECONFIG, the pod's ServiceAccount, or ~/.kube/config"),
  option(
    "--namespace <name>",
    "the operator's own namespace, for its lease and its content key (default: the pod's, or vaultsync-system)",
  ),
  option("--watch-namespace <name>", "look after this namespace only (default: all)"),
  option("--no-leader-elect", "run without a lease; only where no second operator can run"),
  option("--listen <host:port>", "where /healthz, /readyz and /metrics are served")
    .argParser(parseListenAddress)
    .default({ host: "0.0.0.0", port: 8080 }, "0.0.0.0:8080"),
  option("--allow-http", "allow vaults that are reached by http or on a loopback address; for development"),
  option(
    "--vault-hosts <hosts>",
    "comma-separated hosts that connections may point to, also *.example.com (default: any)",
  ).argParser(list),
  option("--value-cache-bytes <bytes>", "how many bytes of values to keep in memory for repairs; 0 keeps none")
    .argParser(whole)
    .default(16 * 1024 * 1024),
  option("--concurrency <number>", "how many resources of a kind to work on at once").argParser(whole).default(16),
  option("--log-level <level>", "debug, info, warn or error").choices(["debug", "info", "warn", "error"]).default("info"),
];

/** `vaultsync operator`: runs until it is told to stop; exits with 1 when it lost its lease. */
export function operatorCommand(): Command {
  const command = new Command("operator").description("Run the operator: from a kubeconfig, or inside a cluster.");
  for (const each of options) command.addOption(each);
  return command.action(async ({ logLevel, ...flags }: OperatorFlags & { logLevel: LogLevel }) => {
    const logger = createLogger({ name: "operator", level: logLevel });
    const metrics = new MetricsRegistry();
    metrics.addProcessMetrics();
    const parts = { clock: systemClock, random: systemRandom, logger, metrics };
    await runOperator(operatorConfig(flags), parts, stopSignal());
  });
}
