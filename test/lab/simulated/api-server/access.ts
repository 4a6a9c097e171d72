import type { KubeObject, ResourceDescriptor } from "../../../../src/operator/kube/resource.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** A request as authorization sees it. */
export interface Access {
  readonly user: string;
  readonly verb: Verb;
  readonly resource: ResourceDescriptor;
  /** `ALL_NAMESPACES` for a list or watch of all of them. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: "status" | "token" | undefined;
}

/** The subject of a request: one object, or without a name all objects of a namespace. */
export interface Scope {
  readonly namespace?: string | undefined;
  readonly name: string | undefined;
}

export const inNamespace = ({ namespace }: Partial<Scope>): Scope => ({
  namespace,
  name: undefined,
});

/** The sender of a request, and the manager of the fields that it writes. */
export interface Caller {
  readonly user: string;
  readonly fieldManager: string;
}

/** Changes or, by throwing a `StatusError`, rejects the object that a request is about to store. */
export type Webhook = (
  object: KubeObject,
  before: KubeObject | undefined,
  access: Access,
) => KubeObject;
