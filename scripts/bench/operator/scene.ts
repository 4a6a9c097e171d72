import type { FaultProxy } from "../../../test/lab/real/fault-proxy.ts";
import type { Content } from "./content.ts";
import type { ConditionWatch } from "./condition-watch.ts";
import type { Samples } from "./samples.ts";
import type { SecretWatch } from "./secret-watch.ts";
import type { Stage, VaultProgram } from "./stage.ts";
import type { RunningSubject, Subject } from "./subject.ts";

export interface Settings {
  /** Duration in seconds of a measurement that has no natural end. */
  readonly seconds: number;
  readonly vault: VaultProgram;
  /** Delay in milliseconds that is added to each response of the vault. */
  readonly latencyMs: number;
  /** Duration in seconds of the vault's outage. */
  readonly outageSeconds: number;
  /** Number of times that a leader ends in each way, per repeat. */
  readonly rounds: number;
  /** Number of Secrets of 100 KB that no resource refers to. */
  readonly unrelated: number;
}

/** A subject with its resources, and the benchmark's own view of them. */
export interface Scene {
  readonly stage: Stage;
  readonly subject: Subject;
  readonly namespace: string;
  readonly content: Content;
  /** The proxy to the vault. It delays and counts requests. */
  readonly proxy: FaultProxy;
  /** Ends an outage. */
  readonly restoreVault: () => void;
  readonly targets: SecretWatch;
  readonly ready: ConditionWatch;
  readonly settings: Settings;
  /** Writes per second of a plain client; `undefined` if that was not measured. */
  readonly rawRate: number | undefined;
  /** Writes per second of the cold start, once it has ended. */
  readonly coldStart: { rate?: number };
  readonly samples: Samples;
}

/**
 * A measurement of a running subject. It may replace the process, and returns the one that runs.
 */
export type Scenario = (scene: Scene, running: RunningSubject) => Promise<RunningSubject>;

/** Records figures of a scenario. */
export function record(
  { samples, subject, content }: Scene,
  scenario: string,
  figures: Readonly<Record<string, number | undefined>>,
): void {
  const { connections, names } = content;
  samples.add({ scenario, subject: subject.label, resources: names.length, connections }, figures);
}

/** Divides, if there is anything to divide by. */
export const ratio = (value: number, by: number | undefined): number | undefined =>
  by === undefined || by === 0 ? undefined : value / by;
