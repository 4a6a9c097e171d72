import {
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { KubeClient } from "../../src/operator/kube/client/kube-client.ts";
import { loadCredentials } from "../../src/operator/kube/credentials/load-credentials.ts";
import { Reflector } from "../../src/operator/kube/cache/reflector.ts";
import { CONFIG_MAPS, SECRETS } from "../../src/operator/kube/resource.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { showObject, type ShownObject, isEqual, type Fingerprint } from "./shown-object.ts";
import type { UploadedFile } from "../../src/protocol/responses.ts";

/** One watch event. `at` is the time of arrival, in ms since the epoch. */
export interface Change {
  readonly at: number;
  readonly index: number;
  readonly type: "added" | "updated" | "deleted";
  readonly before: ShownObject | undefined;
  /** The object after the change; for a deletion, its last known state. */
  readonly object: ShownObject;
}

/** Excludes the credentials Secret and the CA certificate that every namespace gets. */
const watched = [
  { resource: vaultConnectionKind },
  { resource: vaultSecretKind },
  { resource: vaultFileKind },
  { resource: SECRETS, fieldSelector: `type!=${CREDENTIALS_TYPE}` },
  { resource: workloadDescriptor.Deployment },
  { resource: CONFIG_MAPS, fieldSelector: "metadata.name!=kube-root-ca.crt" },
];

/** Records the changes in one namespace in the order of arrival, independently of the operator. */
export class ClusterView implements AsyncDisposable {
  readonly #changes: Change[] = [];
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #reflectors: readonly Reflector<ShownObject>[];
  readonly #client: KubeClient;
  readonly #end = new AbortController();
  readonly #running: Promise<unknown>;

  private constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    const common = {
      api: client,
      namespace,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    };
    this.#reflectors = watched.map(
      (each) => new Reflector({ ...common, ...each, project: showObject }),
    );
    for (const reflector of this.#reflectors) {
      reflector.onChange((change) => {
        const before = change.type === "added" ? undefined : change.before;
        const object = change.type === "deleted" ? change.before : change.now;
        this.#record({
          at: Date.now(),
          index: this.#changes.length,
          type: change.type,
          before,
          object,
        });
      });
    }
    this.#running = Promise.all(
      this.#reflectors.map((reflector) => reflector.run(this.#end.signal)),
    );
  }

  /** Resolves once the namespace is listed and watched. */
  static async open(kubeconfig: string, namespace: string): Promise<ClusterView> {
    const client = new KubeClient({
      credentials: await loadCredentials({ kubeconfig, clock: systemClock }),
      clock: systemClock,
      fieldManager: "vaultsync-demo",
    });
    const view = new ClusterView(client, namespace);
    await Promise.all(view.#reflectors.map((reflector) => reflector.synced));
    return view;
  }

  /** Returns the current position in the changes, for `until`. */
  mark(): number {
    return this.#changes.length;
  }

  objects(): ShownObject[] {
    return this.#reflectors.flatMap((reflector) => [...reflector.store.values()]);
  }

  object(kind: string, name: string): ShownObject | undefined {
    return this.objects().find((object) => object.kind === kind && object.name === name);
  }

  onChange(listener: (change: Change) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Returns the first past or future change from `since` on that matches. @throws the signal's
   * reason
   */
  async until(
    matches: (change: Change) => boolean,
    since: number,
    signal: AbortSignal,
  ): Promise<Change> {
    const past = this.#changes.find((change) => change.index >= since && matches(change));
    if (past !== undefined) return past;
    signal.throwIfAborted();
    const found = Promise.withResolvers<Change>();
    const abort = (): void => found.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    using _listener = this.onChange((change) => matches(change) && found.resolve(change));
    try {
      return await found.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the demo ends"));
    for (const reflector of this.#reflectors) reflector.synced.catch(() => undefined);
    await this.#running;
    await this.#client[Symbol.asyncDispose]();
  }

  #record(change: Change): void {
    this.#changes.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

type Expectation = (change: Change) => boolean;

/** Matches an object that contains exactly these keys with these values. */
export function hasContent(
  kind: string,
  name: string,
  expected: Readonly<Record<string, Fingerprint>>,
): Expectation {
  const keys = Object.entries(expected);
  return ({ type, object }) =>
    type !== "deleted" &&
    object.kind === kind &&
    object.name === name &&
    object.content.size === keys.length &&
    keys.every(([key, print]) => isEqual(object.content.get(key), print));
}

/** Matches a resource with Ready=True. */
export function isReady(kind: string, name: string): Expectation {
  return ({ object }) =>
    object.kind === kind && object.name === name && object.ready?.status === "True";
}

/** Matches a resource whose Ready condition has this reason. */
export function hasReason(kind: string, name: string, reason: string): Expectation {
  return ({ object }) =>
    object.kind === kind && object.name === name && object.ready?.reason === reason;
}

/** Matches a resource whose newer versions wait for something with this reason. */
export function waitsFor(kind: string, name: string, reason: string): Expectation {
  return ({ object }) =>
    object.kind === kind && object.name === name && object.waits?.reason === reason;
}

/** Matches a restart of a Deployment. */
export function isRestart(name: string): Expectation {
  return ({ before, object }) =>
    object.kind === "Deployment" &&
    object.name === name &&
    object.restart !== undefined &&
    object.restart !== before?.restart;
}

/** Matches a resource whose workload runs a new pod template. */
export function isRolledOut(kind: string, name: string): Expectation {
  return ({ object }) =>
    object.kind === kind && object.name === name && object.rollout === "RolledOut";
}

export function isDeleted(kind: string, name: string): Expectation {
  return ({ type, object }) => type === "deleted" && object.kind === kind && object.name === name;
}

/** Matches the ConfigMap web-files with exactly these files, by size and SHA-256. */
export function hasFiles(files: readonly UploadedFile[]): Expectation {
  return ({ type, object }) =>
    type !== "deleted" &&
    object.kind === "ConfigMap" &&
    object.name === "web-files" &&
    object.content.size === files.length &&
    files.every(({ filename, size, sha256 }) => {
      const print = object.content.get(filename);
      return print?.bytes === size && print.sha256 === sha256;
    });
}
