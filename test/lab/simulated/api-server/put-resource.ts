import type { ObjectRef, ResourceDescriptor } from "../../../../src/operator/kube/resource.ts";
import type { InMemoryApiServer } from "./in-memory-api-server.ts";

/**
 * Creates a custom resource, or replaces its spec, as a user does.
 * @throws StatusError when the API server rejects it
 */
export function putResource(
  server: InMemoryApiServer,
  resource: ResourceDescriptor,
  { namespace, name }: ObjectRef,
  spec: object,
): void {
  const metadata = { ...(namespace !== undefined && { namespace }), name };
  const before = server.find(resource, metadata);
  const { group, version, kind } = resource;
  if (before) server.replace(resource, { ...before, spec });
  else server.create(resource, { apiVersion: `${group}/${version}`, kind, metadata, spec });
}
