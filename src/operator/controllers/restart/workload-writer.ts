import type { WorkloadKind } from "../../api/rollout-restart.ts";
import type { KubeError } from "../../kube/kube-error.ts";
import { CONTENT_ANNOTATION, FIELD_MANAGER, RESTART_STATE_ANNOTATION } from "../../api/names.ts";
import { defined } from "../../lib/defined.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { apiVersionOf, type KubeObject } from "../../kube/resource.ts";
import { formatRestartState, type RestartState } from "../../restart/restart-state.ts";
import { workloadDescriptor, type WorkloadRef } from "./workload.ts";

/** Field manager of the two annotations: an apply contains exactly these. */
const MANAGER = `${FIELD_MANAGER}:restart`;

/** Returns the annotation of the pod template, if it has one. */
function templateContent({ spec }: KubeObject): string | undefined {
  const template = isObject(spec) ? spec["template"] : undefined;
  const metadata = isObject(template) ? template["metadata"] : undefined;
  const annotations = isObject(metadata) ? metadata["annotations"] : undefined;
  const content = isObject(annotations) ? annotations[CONTENT_ANNOTATION] : undefined;
  return typeof content === "string" ? content : undefined;
}

/**
 * Writes the annotations of workloads by server-side apply: the state of the restarts in the
 * metadata, and the digest of the content in the pod template, both in one request. No other field
 * is sent. The operator owns both annotations: it takes over the value of another manager, as
 * `kubectl rollout undo` leaves it. The precondition is the version that was read: the decision was
 * made for it, and another leader may have restarted the workload since.
 */
export class WorkloadWriter {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /**
   * Stores the state of the restarts without a restart. The annotation of the pod template is
   * repeated: an apply without it would remove it and start a rollout.
   * @throws KubeError
   */
  record(
    ref: WorkloadRef,
    object: KubeObject,
    state: RestartState,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    return this.#apply(ref, object, state, templateContent(object), signal);
  }

  /**
   * Changes the pod template and stores the state, unless the workload has changed since it was
   * read. A template that has this content already, of an earlier restart, gets the time too.
   * @throws KubeError
   */
  restart(
    ref: WorkloadRef,
    object: KubeObject,
    state: RestartState,
    content: string,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const isSame = templateContent(object) === content;
    const written = isSame ? `${content}.${state.restart?.at}` : content;
    return this.#apply(ref, object, state, written, signal);
  }

  #apply(
    { kind, namespace, name }: WorkloadRef,
    { metadata: { uid, resourceVersion } }: KubeObject,
    state: RestartState,
    content: string | undefined,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const resource = workloadDescriptor[kind];
    const annotations = { [RESTART_STATE_ANNOTATION]: formatRestartState(state) };
    const template = { metadata: { annotations: { [CONTENT_ANNOTATION]: content } } };
    const object = {
      apiVersion: apiVersionOf(resource),
      kind,
      metadata: { namespace, name, ...defined({ uid, resourceVersion }), annotations },
      ...(content !== undefined && { spec: { template } }),
    };
    return this.#api.apply(resource, object, { fieldManager: MANAGER, force: true }, signal);
  }
}

/** Returns why the API server rejected a change of a workload, and what to do. */
export function explainRejection(kind: WorkloadKind, error: KubeError): string {
  const { plural } = workloadDescriptor[kind];
  if (error.deniedBy !== undefined)
    return `${error.deniedBy} denies to patch the ${kind}: ask an administrator to change it`;
  return error.kind === "Forbidden"
    ? `the API server denied to patch the ${kind}: grant the operator get and patch on ${plural}, or check the admission policies`
    : `the API server rejected the change of the pod template (${error.kind}): check the ${kind} and the admission policies`;
}
