import type { KubeObject, ResourceDescriptor } from "../../../../src/operator/kube/resource.ts";
import type { Json } from "./json.ts";
import { nextMetadata } from "./object-metadata.ts";
import { hasSameSpec, isCustom, typeOf } from "./resource-rules.ts";
import { withDefaults } from "./validation.ts";

/** Returns a new object as sent, with defaults. The status of a custom object is not created. */
export function newBody(resource: ResourceDescriptor, body: Json, metadata: Json): KubeObject {
  const { status: _, ...withoutStatus } = body;
  const content = isCustom(resource) ? withoutStatus : body;
  const shaped = withDefaults(resource, { ...content, metadata });
  return { ...shaped, ...typeOf(resource) } as KubeObject;
}

/**
 * Returns a changed object as sent, with defaults.
 * @param isMain the request changes a custom object, and not its status
 */
export function nextBody(
  resource: ResourceDescriptor,
  body: Json,
  before: KubeObject,
  isMain: boolean,
): KubeObject {
  const content: Json = { ...body, metadata: nextMetadata(body["metadata"], before.metadata) };
  if (isMain) {
    if (before["status"] === undefined) delete content["status"];
    else content["status"] = before["status"];
  }
  const shaped = withDefaults(resource, content);
  return { ...shaped, ...typeOf(resource) } as KubeObject;
}

/** Returns an object whose generation is the next one if its spec differs from the one before. */
export function withGeneration(before: KubeObject, object: KubeObject): KubeObject {
  if (hasSameSpec(before, object)) return object;
  const generation = (before.metadata.generation ?? 0) + 1;
  return { ...object, metadata: { ...object.metadata, generation } };
}
