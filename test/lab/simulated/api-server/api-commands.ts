import * as fc from "fast-check";
import type { KubeApi } from "../../../../src/operator/kube/client/kube-api.ts";
import { isKubeError } from "../../../../src/operator/kube/kube-error.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  LEASES,
  type ResourceDescriptor,
  SECRETS,
} from "../../../../src/operator/kube/resource.ts";
import { typeOf } from "./resource-rules.ts";

/** One request, as data: it can be sent to several API servers. */
export interface ApiCommand {
  readonly op:
    | "create"
    | "replace"
    | "patch"
    | "apply"
    | "replaceStatus"
    | "delete"
    | "get"
    | "getMetadata"
    | "list";
  readonly resource: "secrets" | "configmaps" | "leases" | "widgets";
  readonly name: string;
  /** One of two clients; each is a field manager. */
  readonly client: 0 | 1;
  /**
   * The state of the object that the client expects: the last one it received, the one before, or
   * none.
   */
  readonly expected: "last" | "former" | "none";
  readonly withUid: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A custom resource without a schema. */
export const widgets = (group: string): ResourceDescriptor => ({
  group,
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
});

const forever = new AbortController().signal;
const rarely = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: usual, weight: 19 }, { arbitrary: rare, weight: 1 });
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const key = rarely(
  fc.constantFrom("a", "b", "tls.crt", "tls.key", "username"),
  fc.constantFrom("a b", "..", "ä", ""),
);
const base64 = rarely(
  fc.constantFrom("MQ==", "Mg==", "", "e30=", "Mw=="),
  fc.constantFrom("!", "MQ", "M", "MR=="),
);
const type = fc.constantFrom(
  "Opaque",
  "",
  "kubernetes.io/tls",
  "kubernetes.io/basic-auth",
  "kubernetes.io/dockercfg",
  "x/y",
);
const secretFields = fc.record({
  data: optional(fc.dictionary(key, base64, { minKeys: 1, maxKeys: 3 })),
  type: optional(rarely(fc.constant("Opaque"), type)),
  immutable: optional(rarely(fc.constant(false), fc.constant(true))),
});
const configMapFields = fc.record({
  data: optional(fc.dictionary(key, fc.constantFrom("1", "2", ""), { minKeys: 1, maxKeys: 3 })),
  binaryData: optional(fc.dictionary(key, base64, { minKeys: 1, maxKeys: 2 })),
  immutable: optional(rarely(fc.constant(false), fc.constant(true))),
});
const leaseFields = fc.record({
  spec: optional(fc.record({ holderIdentity: fc.constantFrom("a", "b") })),
});
const widgetFields = fc.record({
  spec: optional(fc.record({ size: fc.nat(2), list: optional(fc.array(fc.nat(1))) })),
  status: optional(fc.record({ ready: fc.boolean() })),
});
const word = (usual: string[], rare: string[]) =>
  rarely(fc.constantFrom(...usual), fc.constantFrom(...rare));
const anyMetadata = fc.record({
  labels: optional(
    fc.dictionary(word(["l", "m"], ["a b", "-a", "x/y/z"]), word(["x", "y", ""], ["a b", "-"]), {
      maxKeys: 2,
    }),
  ),
  annotations: optional(
    fc.dictionary(word(["n", "A.b/c"], ["a b"]), fc.constantFrom("1", "any text"), { maxKeys: 2 }),
  ),
  finalizers: optional(
    rarely(
      fc.constant<string[]>([]),
      fc.constantFrom<string[]>(["example.com/hold"], ["example.com/hold", "example.com/b"]),
    ),
  ),
});

const fieldsOf = {
  secrets: secretFields,
  configmaps: configMapFields,
  leases: leaseFields,
  widgets: widgetFields,
};
const ops: readonly ApiCommand["op"][] = [
  "create",
  "replace",
  "patch",
  "apply",
  "delete",
  "get",
  "getMetadata",
  "list",
];

const commandOf = (resource: ApiCommand["resource"]): fc.Arbitrary<ApiCommand> =>
  fc.record({
    op: fc.constantFrom<ApiCommand["op"]>(
      ...ops,
      ...(resource === "widgets" ? (["replaceStatus"] as const) : []),
    ),
    resource: fc.constant(resource),
    name: rarely(fc.constantFrom("one", "one", "two"), fc.constantFrom("Upper", "a_b")),
    client: fc.constantFrom(0, 1),
    expected: fc.constantFrom("last", "last", "last", "last", "former", "none"),
    withUid: fc.boolean(),
    fields: fieldsOf[resource] as fc.Arbitrary<Readonly<Record<string, unknown>>>,
    metadata: anyMetadata,
  });

/** Requests for objects of one resource. They often concern the same object. */
export const apiCommands: fc.Arbitrary<ApiCommand[]> = fc
  .constantFrom("secrets", "secrets", "configmaps", "leases", "widgets", "widgets" as const)
  .chain((resource) =>
    fc.array(commandOf(resource), { minLength: 30, maxLength: 60, size: "max" }),
  );

/**
 * One API server in a comparison, and what its clients have received. Its outcomes contain nothing
 * that differs by chance.
 */
export class ApiSubject {
  readonly #clients: readonly KubeApi[];
  readonly #namespace: string;
  readonly #resources: Readonly<Record<ApiCommand["resource"], ResourceDescriptor>>;
  readonly #received = new Map<string, KubeObject[]>();

  constructor(clients: readonly [KubeApi, KubeApi], namespace: string, widget: ResourceDescriptor) {
    this.#clients = clients;
    this.#namespace = namespace;
    this.#resources = {
      secrets: SECRETS,
      configmaps: CONFIG_MAPS,
      leases: LEASES,
      widgets: widget,
    };
  }

  /** Sends the request and returns the response or the failure in a comparable form. */
  async run(command: ApiCommand): Promise<unknown> {
    try {
      const result = await this.#send(command);
      if (!result) return "done";
      if (!("metadata" in result))
        return result.map((object) => this.#comparable(object, undefined));
      const received = this.#receivedOf(command);
      const before = received.at(-1);
      if (before?.metadata.resourceVersion !== result.metadata.resourceVersion)
        received.push(result);
      return this.#comparable(result, before);
    } catch (error) {
      if (error instanceof RangeError) return "not sent";
      if (!isKubeError(error)) throw error;
      const { kind, status, reason, causes } = error;
      return {
        kind,
        status,
        reason,
        causes: [...new Set(causes.map((cause) => `${cause.field} ${cause.reason}`))].sort(),
      };
    }
  }

  /**
   * Returns the events of objects with the label `l: x`, from a version until the object `end`
   * appears.
   */
  async history(resource: ApiCommand["resource"], resourceVersion: string): Promise<object[]> {
    const scope = {
      namespace: this.#namespace,
      labelSelector: "l=x",
      resourceVersion,
      timeoutSeconds: 60,
    };
    const events: object[] = [];
    for await (const event of this.#clients[0]!.watch(this.#resources[resource], scope, forever)) {
      if (event.type === "bookmark") continue;
      if (event.object.metadata.name === "end") break;
      const { name, labels } = event.object.metadata;
      events.push({ type: event.type, name, labels });
    }
    return events;
  }

  #send(command: ApiCommand): Promise<KubeObject | readonly KubeObject[] | void> {
    const { op, name, fields } = command;
    const api = this.#clients[command.client]!;
    const resource = this.#resources[command.resource];
    const ref = { namespace: this.#namespace, name };
    const state = this.#state(command);
    const metadata = { ...command.metadata, ...ref };
    const object: KubeObject = { ...typeOf(resource), ...fields, metadata };
    switch (op) {
      case "create":
        return api.create(resource, object, forever);
      case "replace":
        return api.replace(resource, { ...object, metadata: { ...metadata, ...state } }, forever);
      case "patch":
        return api.patch(
          resource,
          { ...ref, ...state },
          { ...fields, metadata: command.metadata },
          forever,
        );
      case "apply":
        return api.apply(resource, this.#applied(object, command.client), {}, forever);
      case "replaceStatus":
        return api.replaceStatus(
          resource,
          { ...ref, ...state },
          { ready: fields["status"] },
          forever,
        );
      case "delete":
        return api.delete(resource, { ...ref, ...(command.expected !== "none" && state) }, forever);
      case "list":
        return this.#list(api, resource);
      default:
        return api[op](resource, ref, forever);
    }
  }

  /**
   * The in-memory server does not model that an applied empty map has an owner, nor applying
   * nothing.
   */
  #applied(object: KubeObject, client: number): KubeObject {
    const { annotations, ...metadata } = object.metadata;
    return withoutEmpty({
      ...object,
      metadata: { ...metadata, annotations: { ...annotations, [`by-${client}`]: "" } },
    });
  }

  async #list(api: KubeApi, resource: ResourceDescriptor): Promise<readonly KubeObject[]> {
    const items: KubeObject[] = [];
    for await (const page of api.list(
      resource,
      { namespace: this.#namespace, labelSelector: "l=x" },
      forever,
    )) {
      items.push(...page.items);
    }
    return items;
  }

  #state(command: ApiCommand): { readonly uid?: string; readonly resourceVersion?: string } {
    const received = this.#receivedOf(command);
    const object =
      command.expected === "none" ? undefined : received.at(command.expected === "last" ? -1 : -2);
    const { uid, resourceVersion } = object?.metadata ?? {};
    return {
      ...(command.withUid && uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
  }

  #receivedOf({ resource, name }: ApiCommand): KubeObject[] {
    const id = `${resource}/${name}`;
    const received = this.#received.get(id) ?? [];
    this.#received.set(id, received);
    return received;
  }

  #comparable(object: KubeObject, before: KubeObject | undefined): object {
    const {
      uid,
      resourceVersion,
      creationTimestamp: _,
      managedFields: __,
      namespace,
      deletionTimestamp,
      ...metadata
    } = object.metadata;
    return {
      ...object,
      metadata,
      hasNamespace: namespace === this.#namespace,
      isDeleting: deletionTimestamp !== undefined,
      isSameObject: uid === before?.metadata.uid,
      isSameVersion: resourceVersion === before?.metadata.resourceVersion,
    };
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Returns the value without the empty maps and lists in it. */
function withoutEmpty<T>(value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(
    ([name, part]) => [name, withoutEmpty<unknown>(part)] as const,
  );
  return Object.fromEntries(entries.filter(([, part]) => !isEmpty(part))) as T;
}
