import { Redacted } from "../../../src/lib/redacted.ts";
import type {
  TokenRequest,
  KubeApi,
  MergePatch,
  StateRef,
} from "../../../src/operator/kube/client/kube-api.ts";
import { isObject } from "../../../src/lib/is-object.ts";
import { KubeError, type KubeErrorKind } from "../../../src/operator/kube/kube-error.ts";
import type {
  KubeObject,
  ObjectRef,
  ResourceDescriptor,
} from "../../../src/operator/kube/resource.ts";

const unsupported = (): never => {
  throw new Error("not supported by the in-memory API server");
};

/**
 * An API server that stores objects in memory: single objects only, without validation, watches and
 * garbage collection.
 */
export class InMemoryKubeApi implements KubeApi {
  /** Objects by `<plural>/<namespace>/<name>`. */
  readonly objects = new Map<string, KubeObject>();
  #version = 0;

  readonly list = unsupported;
  readonly watch = unsupported;
  readonly apply = unsupported;

  /** Tokens that were requested, each as `<namespace>/<name> <audience> <seconds>`. */
  readonly tokenRequests: string[] = [];

  requestToken(
    { namespace, name }: ObjectRef,
    { audience, lifetimeSeconds }: TokenRequest,
  ): Promise<Redacted<string>> {
    this.tokenRequests.push(`${namespace}/${name} ${audience} ${lifetimeSeconds}`);
    return this.objects.has(`serviceaccounts/${namespace}/${name}`)
      ? Promise.resolve(new Redacted(`token-${this.tokenRequests.length}`))
      : failure("NotFound", `create serviceaccounts/token ${namespace}/${name}`);
  }

  get({ plural }: ResourceDescriptor, { namespace, name }: ObjectRef): Promise<KubeObject> {
    const object = this.objects.get(`${plural}/${namespace}/${name}`);
    return object
      ? Promise.resolve(object)
      : failure("NotFound", `get ${plural} ${namespace}/${name}`);
  }

  async getMetadata(resource: ResourceDescriptor, ref: ObjectRef): Promise<KubeObject> {
    const { apiVersion, kind, metadata } = await this.get(resource, ref);
    return { apiVersion, kind, metadata };
  }

  create({ plural }: ResourceDescriptor, object: KubeObject): Promise<KubeObject> {
    const { namespace, name } = object.metadata;
    const key = `${plural}/${namespace}/${name}`;
    if (this.objects.has(key)) return failure("AlreadyExists", `create ${key}`);
    return Promise.resolve(
      this.put(plural, { ...object, metadata: { uid: `uid-of-${name}`, ...object.metadata } }),
    );
  }

  async replace(resource: ResourceDescriptor, object: KubeObject): Promise<KubeObject> {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    await this.#expect(resource, { namespace, name, uid, resourceVersion });
    return this.put(resource.plural, object);
  }

  async patch(resource: ResourceDescriptor, ref: StateRef, patch: MergePatch): Promise<KubeObject> {
    return this.put(
      resource.plural,
      merged(await this.#expect(resource, ref), patch) as KubeObject,
    );
  }

  async replaceStatus(
    resource: ResourceDescriptor,
    ref: StateRef,
    status: object,
  ): Promise<KubeObject> {
    const object = await this.#expect(resource, ref);
    return this.put(resource.plural, { ...object, status });
  }

  async delete(resource: ResourceDescriptor, ref: StateRef): Promise<void> {
    await this.#expect(resource, ref);
    this.objects.delete(`${resource.plural}/${ref.namespace}/${ref.name}`);
  }

  /** Stores an object under the next resourceVersion, as another client of the API server does. */
  put(plural: string, object: KubeObject): KubeObject {
    this.#version += 1;
    const { namespace, name } = object.metadata;
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: `${this.#version}` },
    };
    this.objects.set(`${plural}/${namespace}/${name}`, stored);
    return stored;
  }

  async #expect(resource: ResourceDescriptor, ref: StateRef): Promise<KubeObject> {
    const object = await this.get(resource, ref);
    const { uid = object.metadata.uid, resourceVersion = object.metadata.resourceVersion } = ref;
    const isSame =
      uid === object.metadata.uid && resourceVersion === object.metadata.resourceVersion;
    return isSame
      ? object
      : failure("Conflict", `write ${resource.plural} ${ref.namespace}/${ref.name}`);
  }
}

function failure(kind: KubeErrorKind, operation: string): Promise<never> {
  return Promise.reject(new KubeError({ kind, operation }));
}

/** Returns `value` with a JSON merge patch applied (RFC 7386). */
function merged(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else result[key] = merged(result[key], change);
  }
  return result;
}
