import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { ControllerObserver } from "../../runtime/controller.ts";

/** Parts of the process that every controller uses. */
export interface ControllerParts {
  readonly observer: ControllerObserver;
  /** Interval in milliseconds in which every object is reconciled once; 0 turns it off. */
  readonly resyncMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Parts of the process for reconciles that write to the API server. */
export interface ReconcilerParts {
  readonly api: KubeApi;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}
