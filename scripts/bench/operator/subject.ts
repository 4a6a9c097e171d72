import type { Content } from "./content.ts";
import type { Stage } from "./stage.ts";

/** The place of the resources of a subject, and the secrets that they refer to. */
export interface Work {
  readonly namespace: string;
  readonly content: Content;
  /** URL of the vault. */
  readonly url: string;
}

/** A process that is measured. Disposing it kills it. */
export interface RunningSubject extends AsyncDisposable {
  readonly pid: number;
  stop(signal: NodeJS.Signals): Promise<unknown>;
  /**
   * Reports whether it has listed every connection and reconciled every resource, and none waits;
   * absent if only its requests show that.
   */
  readonly isQuiet?: (content: Content) => Promise<boolean>;
  /** Returns the size of the heap after a collection, in MiB; absent if it is not measured. */
  readonly liveHeapMiB?: (() => Promise<number>) | undefined;
}

/** An operator, or a mode of one, that is measured. */
export interface Subject {
  readonly label: string;
  /** Its user at the API server. */
  readonly user: string;
  /** Kind and plural of its resources. */
  readonly kind: string;
  readonly plural: string;
  /** Prepares the control plane, once. */
  prepare(stage: Stage): Promise<void>;
  /** Creates the resources, one for each secret of the content, with a target of the same name. */
  create(stage: Stage, work: Work): Promise<void>;
  start(stage: Stage, namespace: string): Promise<RunningSubject>;
  /**
   * Lets its resources follow new versions in these windows only; absent if it has none. Resolves
   * once it has read them.
   */
  readonly setWindows?: (
    stage: Stage,
    namespace: string,
    names: readonly string[],
    windows: readonly object[],
  ) => Promise<void>;
}

/** Time between two polls of a subject, in seconds. */
export const INTERVAL_SECONDS = 60;
