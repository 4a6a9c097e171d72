import type { OperatorFlags } from "../../src/operator/config.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  type OwnerReference,
  type ResourceDescriptor,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import type { Proxy } from "./path-to-vault.ts";
import { type BreakCommand, breakConnection } from "./broken-connections.ts";
import { storeTokens } from "./stored-tokens.ts";
import { changeWorkload, type WorkloadCommand } from "./workloads.ts";
import type { World } from "./world.ts";

interface TargetRef {
  readonly kind: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly name: string;
}

/**
 * A step that changes how the operator runs, what is between it and others, or what other tools do.
 */
export type TopologyCommand =
  /** Sets the flags of the operator. Replicas that run get them when they start again. */
  | { readonly type: "configure"; readonly flags: OperatorFlags }
  | { readonly type: "scale"; readonly replicas: number }
  /** Grants or withdraws the operator's Roles in a namespace. */
  | { readonly type: "rights"; readonly namespace: string; readonly granted: boolean }
  /** Changes the file of `--namespaces-file`. */
  | { readonly type: "list-namespaces"; readonly namespaces: readonly string[] }
  | { readonly type: "delete-namespace" | "create-namespace"; readonly namespace: string }
  /** A user logs in at a vault and stores the tokens in a Secret. */
  | { readonly type: "store-tokens"; readonly namespace: string; readonly vault: string }
  /** Puts a proxy in front of a vault, or removes it. */
  | { readonly type: "proxy"; readonly vault: string; readonly proxy?: Proxy }
  /**
   * Another operator makes itself the controller of an object, creating it if there is none;
   * `replace`: instead of all owners.
   */
  | ({
      readonly type: "control";
      readonly controller: string;
      readonly replace: boolean;
    } & TargetRef)
  /** A tool such as Helm or Argo CD removes what its manifest lacks. */
  | ({ readonly type: "strip"; readonly what: "labels" | "annotations" | "both" } & TargetRef)
  | WorkloadCommand
  | BreakCommand;

const externalSecretKind: ResourceDescriptor = {
  group: "external-secrets.io",
  version: "v1",
  kind: "ExternalSecret",
  plural: "externalsecrets",
  namespaced: true,
};

/** Carries out a command. @throws StatusError when the API server rejects it */
export function performTopology(world: World, command: TopologyCommand): void {
  const { server } = world;
  switch (command.type) {
    case "configure":
      return world.replicas.configure(command.flags);
    case "scale":
      world.replicas.scale(command.replicas);
      return world.replicas.startAll();
    case "rights":
      return world.rights.set(command.namespace, command.granted);
    case "list-namespaces":
      return world.rights.list(command.namespaces);
    case "delete-namespace":
      server.delete(NAMESPACES, { name: command.namespace });
      return world.rights.set(command.namespace, false);
    case "create-namespace":
      if (server.find(NAMESPACES, { name: command.namespace }) === undefined)
        world.createNamespace(command.namespace);
      return world.rights.set(command.namespace, true);
    case "store-tokens":
      return storeTokens(world, command.namespace, command.vault);
    case "proxy":
      if (command.proxy === undefined) world.proxies.delete(command.vault);
      else world.proxies.set(command.vault, command.proxy);
      return;
    case "control":
      return control(world, command);
    case "strip":
      return strip(world, command);
    case "break-connection":
      return breakConnection(world, command);
    case "workload":
      return changeWorkload(server, command);
  }
}

const descriptorOf = ({ kind }: TargetRef): ResourceDescriptor =>
  kind === "Secret" ? SECRETS : CONFIG_MAPS;

function control({ server }: World, command: Extract<TopologyCommand, { type: "control" }>): void {
  const { kind, namespace, name, controller, replace } = command;
  const ref = { namespace, name: controller };
  const apiVersion = `${externalSecretKind.group}/${externalSecretKind.version}`;
  const owner =
    server.find(externalSecretKind, ref) ??
    server.create(externalSecretKind, {
      apiVersion,
      kind: externalSecretKind.kind,
      metadata: ref,
      spec: {},
    });
  const reference: OwnerReference = {
    apiVersion,
    kind: externalSecretKind.kind,
    name: controller,
    uid: owner.metadata.uid ?? "",
    controller: true,
  };
  const before = server.find(descriptorOf(command), { namespace, name });
  if (before === undefined) {
    const data = { k1: kind === "Secret" ? "Zm9yZWlnbg==" : "foreign" };
    server.create(descriptorOf(command), {
      apiVersion: "v1",
      kind,
      metadata: { namespace, name, ownerReferences: [reference] },
      data,
    });
    return;
  }
  const { ownerReferences = [] } = before.metadata;
  // An object has one controller.
  if (!replace && ownerReferences.some((each) => each.controller)) return;
  const others = replace ? [] : ownerReferences;
  server.patch(
    descriptorOf(command),
    { namespace, name },
    { metadata: { ownerReferences: [...others, reference] } },
  );
}

function strip({ server }: World, command: Extract<TopologyCommand, { type: "strip" }>): void {
  const { namespace, name, what } = command;
  const object = server.get(descriptorOf(command), { namespace, name });
  const removed = (field: "labels" | "annotations"): Record<string, null> =>
    Object.fromEntries(Object.keys(object.metadata[field] ?? {}).map((key) => [key, null]));
  const patch = {
    ...(what !== "annotations" && { labels: removed("labels") }),
    ...(what !== "labels" && { annotations: removed("annotations") }),
  };
  server.patch(descriptorOf(command), { namespace, name }, { metadata: patch });
}

/** Returns the controller of an object if it is not one of the operator's resources. */
export function otherController({
  metadata: { ownerReferences = [] },
}: KubeObject): OwnerReference | undefined {
  return ownerReferences.find(
    (owner) => owner.controller && !owner.apiVersion?.startsWith("vaultsync.dev/"),
  );
}
