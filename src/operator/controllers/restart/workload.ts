import { RESTART_ANNOTATION, RESTART_STATE_ANNOTATION } from "../../api/names.ts";
import { type WorkloadKind, workloadKinds } from "../../api/rollout-restart.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { ifFound } from "../../kube/kube-error.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { shortDigest } from "../../sync/target.ts";
import type { Versioned } from "../outcome/own-writes.ts";

const descriptor = (group: string, version: string, kind: WorkloadKind): ResourceDescriptor => {
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
};

export const workloadDescriptor: Readonly<Record<WorkloadKind, ResourceDescriptor>> = {
  Deployment: descriptor("apps", "v1", "Deployment"),
  StatefulSet: descriptor("apps", "v1", "StatefulSet"),
  DaemonSet: descriptor("apps", "v1", "DaemonSet"),
  Rollout: descriptor("argoproj.io", "v1alpha1", "Rollout"),
};

/** The metadata of a workload that is kept in memory. */
export interface WorkloadMetadata extends Versioned {
  readonly generation: number;
  readonly labels: Readonly<Record<string, string>>;
  /** It asks to be restarted for everything that its pods use. */
  readonly auto: boolean;
  /** Text of the annotation with the state of its restarts. */
  readonly state: string | undefined;
  readonly deleting: boolean;
}

export function workloadMetadata({ metadata }: KubeObject): WorkloadMetadata {
  const {
    uid = "",
    resourceVersion = "",
    generation = 0,
    labels = {},
    annotations = {},
    deletionTimestamp,
  } = metadata;
  return {
    uid,
    resourceVersion,
    generation,
    labels,
    auto: annotations[RESTART_ANNOTATION] === "auto",
    state: annotations[RESTART_STATE_ANNOTATION],
    deleting: deletionTimestamp !== undefined,
  };
}

/** Returns a digest of the template of the pods of a workload. */
export const templateDigest = ({ spec }: KubeObject): string =>
  shortDigest([isObject(spec) ? spec["template"] : undefined]);

/** The key of a workload in the queue: `<kind>/<namespace>/<name>`. */
export const workloadKey = (kind: WorkloadKind, objectKey: string): string =>
  `${kind}/${objectKey}`;

export interface WorkloadRef {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** `<namespace>/<name>`. */
  readonly objectKey: string;
}

/** Parses a key of the queue. */
export function parseWorkloadKey(key: string): WorkloadRef {
  const [first = "", namespace = "", name = ""] = key.split("/");
  const kind = workloadKinds.find((one) => one === first) ?? "Deployment";
  return { kind, namespace, name, objectKey: `${namespace}/${name}` };
}

/** Reads a workload; `undefined` if it does not exist. @throws KubeError */
export const readWorkload = (
  api: KubeApi,
  { kind, namespace, name }: WorkloadRef,
  signal: AbortSignal,
): Promise<KubeObject | undefined> =>
  ifFound(api.get(workloadDescriptor[kind], { namespace, name }, signal));
