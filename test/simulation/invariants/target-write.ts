import { OWNER_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Origin } from "../simulated-vaults.ts";
import type { World } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";

/** A write of a Secret or ConfigMap by a replica of the operator. */
export interface TargetWrite {
  readonly world: World;
  /** The specs as the replica knows them. */
  readonly history: KnownSpecs;
  readonly user: string;
  /** For messages. */
  readonly name: string;
  readonly namespace: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** The resource that the object belongs to, or belonged to, `<kind>/<name>`; empty if to none. */
  readonly owner: string;
  /** Content in base64. */
  readonly was: Readonly<Record<string, string>>;
  /** Content before or, if a user has deleted the object, the content that was written last. */
  readonly last: Readonly<Record<string, string>>;
  readonly is: Readonly<Record<string, string>>;
}

/** Returns the resource that controls an object or, without a controller, that its annotation names. */
export function ownerOf({ metadata: { ownerReferences = [], annotations = {} } }: KubeObject): string | undefined {
  const controller = ownerReferences.find((reference) => reference.controller);
  return controller ? `${controller.kind}/${controller.name}` : annotations[OWNER_ANNOTATION];
}

/** Returns the content of a Secret or ConfigMap in base64. */
export function contentOf(object: KubeObject): Record<string, string> {
  const data = (object["data"] ?? {}) as Record<string, string>;
  if (object.kind === "Secret") return data;
  const texts = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")] as const);
  return { ...Object.fromEntries(texts), ...(object["binaryData"] as Record<string, string> | undefined) };
}

/** Returns the version of bytes of the vault. */
export const versionOf = ({ versions }: Origin): number => Math.max(...versions);

export const isSameSource = (a: Origin, b: Origin): boolean => a.vault === b.vault && a.owner === b.owner && a.name === b.name;
