import { MANAGED_BY_LABEL, OWNER_ANNOTATION, VERSIONS_ANNOTATION } from "../../src/operator/api/names.ts";
import { CONFIG_MAPS, type KubeObject, LEASES, SECRETS } from "../../src/operator/kube/resource.ts";
import type { Change } from "../support/kube/in-memory/collection.ts";
import { vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import { isCustom } from "../support/kube/in-memory/resource-rules.ts";
import { CANARY, type Origin } from "./simulated-vaults.ts";
import { accountOf, CREATOR, SYSTEM_NAMESPACE, urlOf, VAULTS, Violation, type World } from "./world.ts";

interface Spec {
  readonly data?: readonly { readonly secretKey: string; readonly remoteRef: { readonly key: string } }[];
  readonly files?: readonly { readonly filename: string; readonly key?: string }[];
  readonly target?: { readonly name?: string; readonly kind?: string };
}

/** Time for which a former holder of the Lease may write, in milliseconds: the duration of the Lease. */
const LEASE_MS = 15_000;

/** Time after which the operator knows a changed spec, in milliseconds: the longest lag of a watch, and a request. */
const SPEC_LAG_MS = 90_000;

/** Watches every write of the operator, and throws a `Violation` for one that must not happen. */
export class WriteRules {
  /** Number of writes other than of Leases and events. */
  writes = 0;
  readonly #world: World;
  /** The keys that each resource has ever asked for, and the names of their sources. */
  readonly #asked = new Map<string, Map<string, Set<string>>>();
  /** Time of the last change of a spec, by namespace. */
  readonly #specsChangedAt = new Map<string, number>();
  #holder = "";
  #formerHolder = "";
  #changedAt = 0;

  constructor(world: World) {
    this.#world = world;
    world.server.onCommit((change) => {
      this.#remember(change);
      if (change.user.startsWith("operator-")) this.#check(change);
    });
  }

  #remember({ resource, before, after }: Change): void {
    if (resource.kind === LEASES.kind && after?.metadata.name === "vaultsync") this.#rememberHolder(after);
    const { namespace, generation } = (after ?? before)!.metadata;
    if (isCustom(resource) && (!after || before?.metadata.generation !== generation))
      this.#specsChangedAt.set(namespace ?? "", this.#world.clock.monotonic());
    if (!after || !(resource.kind === "VaultSecret" || resource.kind === "VaultFile")) return;
    const asked = this.#askedBy(after.metadata.namespace, `${resource.kind}/${after.metadata.name}`);
    for (const [key, source] of sourcesOf(after["spec"] as Spec)) {
      if (!asked.has(key)) asked.set(key, new Set());
      asked.get(key)!.add(source);
    }
  }

  #rememberHolder(lease: KubeObject): void {
    const { holderIdentity = "" } = lease["spec"] as { holderIdentity?: string };
    if (holderIdentity === this.#holder) return;
    this.#formerHolder = this.#holder;
    this.#holder = holderIdentity;
    this.#changedAt = this.#world.clock.monotonic();
  }

  #check(change: Change): void {
    const { resource, before, after, user } = change;
    const text = JSON.stringify([after?.metadata, after?.["status"], after?.["note"]]);
    const name = `${resource.kind} ${(after ?? before)!.metadata.namespace}/${(after ?? before)!.metadata.name}`;
    if (text.includes(CANARY)) throw new Violation("I11", `${name} contains a value outside of its data: ${text}`);
    if (resource.kind === LEASES.kind) return;
    this.#checkLeader(name, user);
    if (resource.kind === "Event") return;
    this.writes += 1;
    if (resource.kind !== SECRETS.kind && resource.kind !== CONFIG_MAPS.kind) return;
    const { namespace } = (after ?? before)!.metadata;
    if (namespace === SYSTEM_NAMESPACE) return;
    if (before && before.metadata.labels?.[MANAGED_BY_LABEL] !== "vaultsync" && !ownerOf(before)) {
      throw new Violation("I8", `${user} wrote ${name}, which is not the operator's`);
    }
    if (before && after) this.#checkOwner(name, before, after);
    if (after) this.#checkContent(name, after, before);
    this.#checkRemovals(name, after, before);
  }

  #checkLeader(name: string, user: string): void {
    const isFormer = user === this.#formerHolder && this.#world.clock.monotonic() - this.#changedAt < LEASE_MS;
    if (user === this.#holder || (isFormer && this.#holder === "")) return;
    throw new Violation("I7", `${user} wrote ${name} while ${this.#holder || "no replica"} held the Lease`);
  }

  /** No resource takes over the target of another one (I8). */
  #checkOwner(name: string, before: KubeObject, after: KubeObject): void {
    const [former, now] = [controllerOf(before), controllerOf(after)];
    if (former === undefined || now === undefined || former === now) return;
    throw new Violation("I8", `${name} was taken over from ${former} by ${now}`);
  }

  /** Every key has the bytes that the vault holds, or held, for the version that the annotation claims (I2, I8, I12). */
  #checkContent(name: string, after: KubeObject, before: KubeObject | undefined): void {
    const owner = ownerOf(after);
    const versions = JSON.parse(after.metadata.annotations?.[VERSIONS_ANNOTATION] ?? "{}") as Record<string, number>;
    const asked = this.#askedBy(after.metadata.namespace, owner ?? "");
    for (const [key, base64] of Object.entries(contentOf(after))) {
      const origin = this.#world.vaults.origin(base64);
      if (!origin) {
        if (before && contentOf(before)[key] === base64) continue;
        throw new Violation("I2", `${name}: key ${key} has bytes that no vault has ever held`);
      }
      const version = versions[key];
      if (version === undefined || !origin.versions.has(version)) {
        throw new Violation(
          "I2",
          `${name}: key ${key} is labeled version ${version}, but has the bytes of ${[...origin.versions].join()}`,
        );
      }
      if (!asked.get(key)?.has(origin.name)) throw new Violation("I2", `${name}: key ${key} has bytes of ${origin.name}`);
      const account = accountOf(after.metadata.namespace ?? "");
      if (origin.owner !== account && origin.owner !== CREATOR) {
        throw new Violation("I12", `${name}: key ${key} has bytes of another namespace's account`);
      }
    }
  }

  /** No key that the resource asks for is removed, unless the vault removed its source at a deadline (I1, I6). */
  #checkRemovals(name: string, after: KubeObject | undefined, before: KubeObject | undefined): void {
    if (!before) return;
    const owner = ownerOf(before);
    const [kind = "", resourceName = ""] = (owner ?? "").split("/");
    const { namespace } = before.metadata;
    const descriptor = this.#world.server.collections.find(({ resource }) => resource.kind === kind)?.resource;
    const object = descriptor && this.#world.server.find(descriptor, { namespace, name: resourceName });
    if (!object) {
      if (!after) throw new Violation("I6", `${name} was removed although ${owner} does not exist: only Kubernetes may do that`);
      return;
    }
    const spec = object["spec"] as Spec;
    const targetName = spec.target?.name ?? resourceName;
    const targetKind = kind === "VaultFile" ? spec.target?.kind : "Secret";
    if (targetName !== before.metadata.name || targetKind !== before.kind) return;
    const now = after ? contentOf(after) : {};
    for (const [key, source] of sourcesOf(spec)) {
      const base64 = contentOf(before)[key];
      const origin = base64 === undefined ? undefined : this.#world.vaults.origin(base64);
      if (!origin || key in now || origin.name !== source) continue;
      this.#checkDeadlineOf(name, key, origin, object);
      if (this.#world.vaults.withDeadline.has(`${origin.vault} ${origin.owner} ${origin.name}`)) continue;
      throw new Violation("I1", `${name}: key ${key} was removed although no deadline of ${source} has passed`);
    }
  }

  /** Only a deadline in the vault that the resource uses removes a key, not one in the vault that it used before (I1). */
  #checkDeadlineOf(name: string, key: string, origin: Origin, { metadata, spec }: KubeObject): void {
    const { namespace = "" } = metadata;
    if (this.#world.clock.monotonic() - (this.#specsChangedAt.get(namespace) ?? 0) < SPEC_LAG_MS) return;
    const { connectionRef } = spec as { connectionRef: { name: string } };
    const connection = this.#world.server.find(vaultConnectionKind, { namespace, name: connectionRef.name });
    const { url } = (connection?.["spec"] ?? {}) as { url?: string };
    const vault = VAULTS.find((each) => urlOf(each) === url);
    const deadlines = [...this.#world.vaults.withDeadline];
    if (deadlines.some((id) => id.startsWith(`${vault} `) && id.endsWith(` ${origin.name}`))) return;
    throw new Violation(
      "I1",
      `${name}: key ${key} was removed by a deadline of vault ${origin.vault}, but vault ${vault} is in use`,
    );
  }

  #askedBy(namespace: string | undefined, owner: string): Map<string, Set<string>> {
    const id = `${namespace} ${owner}`;
    const asked = this.#asked.get(id) ?? new Map<string, Set<string>>();
    this.#asked.set(id, asked);
    return asked;
  }
}

/** Returns the resource that controls an object. One that was created again under the same name is the same. */
function controllerOf({ metadata: { ownerReferences = [] } }: KubeObject): string | undefined {
  const controller = ownerReferences.find((reference) => reference.controller);
  return controller && `${controller.kind}/${controller.name}`;
}

function ownerOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[OWNER_ANNOTATION];
}

/** Returns the keys of a spec, each with the name of its source. */
function sourcesOf({ data = [], files = [] }: Spec): [string, string][] {
  const secrets = data.map(({ secretKey, remoteRef }): [string, string] => [secretKey, remoteRef.key]);
  return [...secrets, ...files.map(({ filename, key = filename }): [string, string] => [key, filename])];
}

/** Returns the content of a Secret or ConfigMap in base64. */
export function contentOf(object: KubeObject): Record<string, string> {
  const data = (object["data"] ?? {}) as Record<string, string>;
  if (object.kind === "Secret") return data;
  const texts = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")] as const);
  return { ...Object.fromEntries(texts), ...(object["binaryData"] as Record<string, string> | undefined) };
}
