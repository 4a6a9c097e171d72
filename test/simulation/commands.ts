import type { MergePatch } from "../../src/operator/kube/client/kube-api.ts";
import { clusterVaultConnectionKind, vaultConnectionKind, vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  type ResourceDescriptor,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import { StatusError } from "../support/kube/in-memory/status-error.ts";
import type { ApiFault, VaultFault } from "./networks.ts";
import { accountOf, CREATOR, PASSWORD, SYSTEM_NAMESPACE, type World } from "./world.ts";

/** One step of a simulation, as data: it can be written to a file, repeated and omitted. */
export type Command =
  | { readonly type: "advance"; readonly ms: number }
  | {
      readonly type: "write-secret";
      readonly vault: string;
      readonly owner: string;
      readonly name: string;
      readonly minutes?: number;
    }
  | { readonly type: "upload-file"; readonly vault: string; readonly owner: string; readonly name: string }
  | { readonly type: "remove-entry" | "remove-version"; readonly vault: string; readonly owner: string; readonly name: string }
  | { readonly type: "share" | "unshare"; readonly vault: string; readonly name: string; readonly to: string }
  | { readonly type: "back-up" | "restore"; readonly vault: string }
  | { readonly type: "revoke-tokens"; readonly vault: string; readonly account: string; readonly refresh: boolean }
  | { readonly type: "vault-password" | "login-password"; readonly namespace: string; readonly right: boolean }
  | {
      readonly type: "put";
      readonly kind: "VaultSecret" | "VaultFile" | "VaultConnection";
      readonly namespace: string;
      readonly name: string;
      readonly spec: object;
    }
  | {
      readonly type: "delete";
      readonly kind: "VaultSecret" | "VaultFile" | "VaultConnection";
      readonly namespace: string;
      readonly name: string;
    }
  | {
      readonly type: "delete-target" | "tamper" | "add-foreign";
      readonly kind: "Secret" | "ConfigMap";
      readonly namespace: string;
      readonly name: string;
      readonly how: number;
    }
  | { readonly type: "put-cluster-connection"; readonly name: string; readonly spec: object }
  | { readonly type: "delete-cluster-connection"; readonly name: string }
  | { readonly type: "label"; readonly namespace: string; readonly labels: Readonly<Record<string, string>> }
  | { readonly type: "delete-lease" }
  | { readonly type: "api-fault"; readonly fault: ApiFault; readonly share: number }
  | { readonly type: "vault-fault"; readonly vault: string; readonly fault: VaultFault; readonly share: number }
  | { readonly type: "end-faults" }
  | { readonly type: "watch-lag"; readonly ms: number }
  | { readonly type: "drop-watches" | "silence-watches" | "compact" }
  | { readonly type: "crash" | "stop" | "start" | "suspend" | "resume"; readonly replica: number }
  | { readonly type: "skew"; readonly replica: number; readonly ms: number }
  | { readonly type: "settle" };

const kinds: Readonly<Record<string, ResourceDescriptor>> = {
  VaultSecret: vaultSecretKind,
  VaultFile: vaultFileKind,
  VaultConnection: vaultConnectionKind,
  ClusterVaultConnection: clusterVaultConnectionKind,
  Secret: SECRETS,
  ConfigMap: CONFIG_MAPS,
};

/** Carries out a command other than `settle`. What the API server rejects has no effect. */
export async function perform(world: World, command: Command): Promise<void> {
  try {
    await act(world, command);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
  }
}

async function act(world: World, command: Command): Promise<void> {
  const { server, vaults, faults } = world;
  switch (command.type) {
    case "advance":
      return world.advance(command.ms);
    case "write-secret":
      return vaults.write(command.vault, command.owner, command.name, command.minutes);
    case "upload-file":
      return vaults.upload(command.vault, command.owner, command.name);
    case "remove-entry":
      return vaults.remove(command.vault, command.owner, command.name);
    case "remove-version":
      return vaults.removeLatestVersion(command.vault, command.owner, command.name);
    case "share":
      return vaults.share(command.vault, CREATOR, command.name, command.to);
    case "unshare":
      return vaults.share(command.vault, CREATOR, command.name, undefined);
    case "back-up":
      return vaults.backUp(command.vault);
    case "restore":
      return vaults.restore(command.vault);
    case "revoke-tokens":
      return vaults.vault(command.vault).revoke(command.account, { refresh: command.refresh });
    case "vault-password":
      for (const vault of vaults.names) {
        vaults.vault(vault).setPassword(accountOf(command.namespace), command.right ? PASSWORD : "another");
      }
      return;
    case "login-password":
      return world.setPassword(command.namespace, command.right ? PASSWORD : "a-wrong-one");
    case "put":
      return put(world, command);
    case "delete":
      return server.delete(kinds[command.kind]!, { namespace: command.namespace, name: command.name });
    case "put-cluster-connection":
      return put(world, { ...command, kind: "ClusterVaultConnection" });
    case "delete-cluster-connection":
      return server.delete(clusterVaultConnectionKind, { name: command.name });
    case "label":
      return relabel(world, command);
    case "delete-target":
    case "tamper":
    case "add-foreign":
      return disturb(world, command);
    case "delete-lease":
      world.leaseDeletedAt = world.clock.monotonic();
      return server.delete(LEASES, { namespace: SYSTEM_NAMESPACE, name: "vaultsync" });
    case "api-fault":
      faults.api.set(command.fault, command.share);
      return;
    case "vault-fault":
      faults.vault.set(command.vault, { fault: command.fault, share: command.share });
      return;
    case "end-faults":
      return world.endFaults();
    case "watch-lag":
      faults.watchLagMs = command.ms;
      return;
    case "drop-watches":
      for (const watch of server.watches()) watch.drop();
      return;
    case "silence-watches":
      return world.silenceWatches();
    case "compact":
      return server.compact();
    case "skew":
      return world.skew(command.replica, command.ms);
    case "settle":
      return;
    default:
      return world[command.type](command.replica);
  }
}

function relabel({ server }: World, { namespace, labels }: Extract<Command, { type: "label" }>): void {
  const before = server.get(NAMESPACES, { name: namespace });
  server.replace(NAMESPACES, { ...before, metadata: { ...before.metadata, labels } });
}

interface Put {
  readonly kind: string;
  /** Absent for a ClusterVaultConnection. */
  readonly namespace?: string;
  readonly name: string;
  readonly spec: object;
}

function put({ server }: World, { kind, namespace, name, spec }: Put): void {
  const resource = kinds[kind]!;
  const before = server.find(resource, { namespace, name });
  const object: KubeObject = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind,
    metadata: before?.metadata ?? { ...(namespace !== undefined && { namespace }), name },
    spec,
  };
  if (before) server.replace(resource, { ...object, status: before["status"] });
  else server.create(resource, object);
}

/** Changes a target, or what has its name, as a user or a tool does. */
function disturb({ server }: World, command: Extract<Command, { how: number }>): void {
  const { type, kind, namespace, name, how } = command;
  const resource = kinds[kind]!;
  const before = server.find(resource, { namespace, name });
  if (type === "add-foreign") {
    const data = { [`k${1 + (how % 3)}`]: kind === "Secret" ? "Zm9yZWlnbg==" : "foreign" };
    server.create(resource, { apiVersion: "v1", kind, metadata: { namespace, name }, data });
  } else if (type === "delete-target") server.delete(resource, { namespace, name });
  else if (before) {
    const data = kind === "Secret" ? { k1: "dGFtcGVyZWQ=" } : { f1: "tampered" };
    const { annotations = {}, labels = {} } = before.metadata;
    const versions = { "vaultsync.dev/versions": (annotations["vaultsync.dev/versions"] ?? "{}").replace(/:\d+/, ":99") };
    const changes: readonly MergePatch[] = [
      { data },
      { data: { k1: null, k2: null, f1: null } },
      { metadata: { annotations: versions } },
      { metadata: { annotations: { "vaultsync.dev/content": "other" } } },
      { metadata: { labels: Object.fromEntries(Object.keys(labels).map((label) => [label, null])) } },
      { metadata: { ownerReferences: null } },
    ];
    server.patch(resource, { namespace, name }, changes[how]!);
  }
}
