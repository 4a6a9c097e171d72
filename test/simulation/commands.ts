import type { Vanished } from "./simulated-vaults.ts";
import { APPROVE_ANNOTATION, CONFIRM_REMOVALS_ANNOTATION } from "../../src/operator/api/names.ts";
import type { MergePatch } from "../../src/operator/kube/client/kube-api.ts";
import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  type ResourceDescriptor,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import { putResource } from "../lab/simulated/api-server/put-resource.ts";
import { StatusError } from "../lab/simulated/api-server/status-error.ts";
import { SHARD_LEASE } from "./invariants/leadership.ts";
import { checkExpiries } from "./invariants/expiries.ts";
import { type BesideCommand, performBeside } from "./pushes/beside-commands.ts";
import { type FanOutCommand, performFanOut } from "./fan-out-commands.ts";
import { type FreezeCommand, performFreeze } from "./freezes.ts";
import { changeIdentity, type IdentityCommand } from "./identities.ts";
import type { ApiFault, VaultFault } from "./networks.ts";
import type { ValueForm } from "./simulated-values.ts";
import { type WipeCommand, wipeStatuses } from "./wiped-statuses.ts";
import { performTopology, type TopologyCommand } from "./topology-commands.ts";
import { heldRemovals } from "./invariants/confirmations.ts";
import { accountOf, CREATOR, EDITED_VERSION, PASSWORD, type World } from "./world.ts";

/** One step of a simulation, as data: it can be written to a file, repeated and omitted. */
export type Command =
  | { readonly type: "advance"; readonly ms: number }
  | {
      readonly type: "write-secret";
      readonly vault: string;
      readonly owner: string;
      readonly name: string;
      readonly minutes?: number;
      readonly metadata?: Readonly<Record<string, string>>;
      readonly form?: ValueForm;
    }
  /**
   * All secrets whose names begin with this prefix, of one vault, disappear together; a backup can
   * bring them back.
   */
  | ({ readonly type: "vanish" } & Vanished)
  | {
      readonly type: "annotate";
      readonly kind: "VaultSecret" | "VaultFile" | "Secret" | "ConfigMap";
      readonly namespace: string;
      readonly name: string;
      /** `null` removes an annotation. */
      readonly annotations: Readonly<Record<string, string | null>>;
    }
  /** Confirms as many removals as the connection reports, or one less. */
  | {
      readonly type: "confirm-removals";
      /** Absent for a ClusterVaultConnection. */
      readonly namespace?: string;
      readonly name: string;
      readonly right: boolean;
    }
  | {
      readonly type: "upload-file";
      readonly vault: string;
      readonly owner: string;
      readonly name: string;
    }
  | {
      readonly type: "remove-entry" | "remove-version";
      readonly vault: string;
      readonly owner: string;
      readonly name: string;
    }
  | {
      readonly type: "share" | "unshare";
      readonly vault: string;
      readonly name: string;
      readonly to: string;
    }
  | { readonly type: "back-up" | "restore"; readonly vault: string }
  | {
      readonly type: "revoke-tokens";
      readonly vault: string;
      readonly account: string;
      readonly refresh: boolean;
    }
  | {
      readonly type: "vault-password" | "login-password";
      readonly namespace: string;
      readonly right: boolean;
    }
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
  | {
      readonly type: "label";
      readonly namespace: string;
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly type: "delete-lease" }
  | { readonly type: "api-fault"; readonly fault: ApiFault; readonly share: number }
  | {
      readonly type: "vault-fault";
      readonly vault: string;
      readonly fault: VaultFault;
      readonly share: number;
    }
  | { readonly type: "end-faults" }
  | { readonly type: "watch-lag"; readonly ms: number }
  | { readonly type: "drop-watches" | "silence-watches" | "compact" }
  | { readonly type: "crash" | "stop" | "start" | "suspend" | "resume"; readonly replica: number }
  | { readonly type: "skew"; readonly replica: number; readonly ms: number }
  | { readonly type: "settle" }
  /** Approves the versions that the status of a resource shows, or other ones. */
  | {
      readonly type: "approve";
      readonly kind: "VaultSecret" | "VaultFile";
      readonly namespace: string;
      readonly name: string;
      readonly right: boolean;
    }
  | FreezeCommand
  | IdentityCommand
  | WipeCommand
  | FanOutCommand
  | BesideCommand
  | TopologyCommand;

const kinds: Readonly<Record<string, ResourceDescriptor>> = {
  VaultSecret: vaultSecretKind,
  VaultFile: vaultFileKind,
  VaultConnection: vaultConnectionKind,
  ClusterVaultConnection: clusterVaultConnectionKind,
  Secret: SECRETS,
  ConfigMap: CONFIG_MAPS,
};

/** Commands that disturb nothing. */
const CALM = new Set<Command["type"]>(["advance", "write-secret", "upload-file"]);
const isCalm = (command: Command): boolean =>
  CALM.has(command.type) || (command.type === "push" && command.how === "set");

/** Carries out a command other than `settle`. What the API server rejects has no effect. */
export async function perform(world: World, command: Command): Promise<void> {
  if (!isCalm(command)) world.quietSince = Infinity;
  if (command.type !== "advance") world.confirmations.disturbed();
  try {
    await act(world, command);
    if (command.type === "advance" && !world.hasFaults) world.confirmations.check(command.ms);
    checkExpiries(world);
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
      return vaults.write(command.vault, command.owner, command.name, command);
    case "vanish":
      world.onVanish(command);
      return vaults.vanish(command);
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
      world.revokedTokens.add(`${command.vault} ${command.account}`);
      return vaults.vault(command.vault).revoke(command.account, { refresh: command.refresh });
    case "vault-password":
      for (const vault of vaults.names) {
        vaults
          .vault(vault)
          .setPassword(accountOf(command.namespace), command.right ? PASSWORD : "another");
      }
      return;
    case "login-password":
      return world.setPassword(command.namespace, command.right ? PASSWORD : "a-wrong-one");
    case "put":
      return put(world, command);
    case "delete":
      return server.delete(kinds[command.kind]!, {
        namespace: command.namespace,
        name: command.name,
      });
    case "annotate":
      return annotate(world, command, command.annotations);
    case "confirm-removals":
      return confirmRemovals(world, command);
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
    case "approve":
      return approve(world, command);
    case "freeze":
    case "unfreeze":
    case "freeze-namespace":
      return performFreeze(world, command);
    case "delete-lease":
      world.leaseDeletedAt = world.clock.monotonic();
      for (const { metadata } of server.all(LEASES))
        if (SHARD_LEASE.test(metadata.name)) server.delete(LEASES, metadata);
      return;
    case "api-fault":
      faults.api.set(command.fault, command.share);
      return;
    case "vault-fault":
      faults.vault.set(command.vault, { fault: command.fault, share: command.share });
      return;
    case "end-faults":
      return world.endFaults();
    case "watch-lag":
      return world.lagWatches(command.ms);
    case "drop-watches":
      return world.dropWatches();
    case "silence-watches":
      return world.silenceWatches();
    case "compact":
      return server.compact();
    case "skew":
      return world.replicas.skew(command.replica, command.ms);
    case "settle":
      return;
    case "identity":
      return changeIdentity(world, command);
    case "wipe-statuses":
      return wipeStatuses(world, command);
    case "fan-out":
      return performFanOut(world, command);
    case "push":
      return performBeside(world, command);
    case "crash":
    case "stop":
    case "start":
    case "suspend":
    case "resume":
      return world.replicas[command.type](command.replica);
    default:
      return performTopology(world, command);
  }
}

function relabel(
  { server }: World,
  { namespace, labels }: Extract<Command, { type: "label" }>,
): void {
  const before = server.get(NAMESPACES, { name: namespace });
  server.replace(NAMESPACES, { ...before, metadata: { ...before.metadata, labels } });
}

function annotate(
  { server }: World,
  {
    kind,
    namespace,
    name,
  }: { readonly kind: string; readonly namespace?: string | undefined; readonly name: string },
  annotations: Readonly<Record<string, string | null>>,
): void {
  server.patch(kinds[kind]!, { namespace, name }, { metadata: { annotations } });
}

function confirmRemovals(
  world: World,
  { namespace, name, right }: Extract<Command, { type: "confirm-removals" }>,
): void {
  const kind = namespace === undefined ? "ClusterVaultConnection" : "VaultConnection";
  const find = (): KubeObject | undefined => world.server.find(kinds[kind]!, { namespace, name });
  const held = heldRemovals(find());
  if (held === undefined) return;
  const annotations = { [CONFIRM_REMOVALS_ANNOTATION]: `${Number(held) - (right ? 0 : 1)}` };
  if (right) {
    world.onConfirm();
    world.confirmations.confirmed(find, held);
  }
  annotate(world, { kind, namespace, name }, annotations);
}

function approve(world: World, command: Extract<Command, { type: "approve" }>): void {
  const { kind, namespace, name, right } = command;
  const { status } = world.server.get(kinds[kind]!, { namespace, name });
  const { approvalDigest } = (status ?? {}) as { readonly approvalDigest?: string };
  if (approvalDigest === undefined) return;
  annotate(world, command, { [APPROVE_ANNOTATION]: right ? approvalDigest : "other versions" });
}

interface Put {
  readonly kind: string;
  /** Absent for a ClusterVaultConnection. */
  readonly namespace?: string;
  readonly name: string;
  readonly spec: object;
}

function put({ server, onEdit }: World, { kind, namespace, name, spec }: Put): void {
  const resource = kinds[kind]!;
  const before = server.find(resource, { namespace, name });
  if (before) onEdit(before, spec);
  putResource(server, resource, { namespace, name }, spec);
}

/** Changes a target, or what has its name, as a user or a tool does. */
function disturb(world: World, command: Extract<Command, { how: number }>): void {
  const { server } = world;
  world.isTampered = true;
  const { type, kind, namespace, name, how } = command;
  const resource = kinds[kind]!;
  const before = server.find(resource, { namespace, name });
  if (type === "add-foreign") {
    // Most resources have none of the last two keys.
    const data = {
      [["k1", "k2", "k3", "other", "others"][how]!]: kind === "Secret" ? "Zm9yZWlnbg==" : "foreign",
    };
    server.create(resource, { apiVersion: "v1", kind, metadata: { namespace, name }, data });
  } else if (type === "delete-target") server.delete(resource, { namespace, name });
  else if (before) {
    const data = kind === "Secret" ? { k1: "dGFtcGVyZWQ=" } : { f1: "tampered" };
    const { annotations = {}, labels = {} } = before.metadata;
    const versions = {
      "vaultsync.dev/versions": (annotations["vaultsync.dev/versions"] ?? "{}").replace(
        /:\d+/,
        `:${EDITED_VERSION}`,
      ),
    };
    const changes: readonly MergePatch[] = [
      { data },
      { data: { k1: null, k2: null, f1: null } },
      { metadata: { annotations: versions } },
      { metadata: { annotations: { "vaultsync.dev/content": "other" } } },
      {
        metadata: { labels: Object.fromEntries(Object.keys(labels).map((label) => [label, null])) },
      },
      { metadata: { ownerReferences: null } },
    ];
    server.patch(resource, { namespace, name }, changes[how]!);
  }
}
