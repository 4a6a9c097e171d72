import { silentLogger } from "../../../src/lib/logger.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { KubeApi } from "../../../src/operator/kube/client/kube-api.ts";
import { ApiEventRecorder } from "../../../src/operator/kube/event-recorder.ts";

export interface RunningRecorder {
  readonly recorder: ApiEventRecorder;
  readonly stop: AbortController;
  /** Resolves after `stop` was aborted. */
  readonly running: Promise<void>;
}

/** Starts a recorder that writes the events of the instance `pod-0`. */
export function startEventRecorder(api: KubeApi, clock: Clock): RunningRecorder {
  const identity = { controller: "vaultsync.dev/test", instance: "pod-0" };
  const recorder = new ApiEventRecorder({ api, clock, logger: silentLogger, ...identity });
  const stop = new AbortController();
  return { recorder, stop, running: recorder.run(stop.signal) };
}
