import { z } from "zod";
import type { KubeObject } from "../../src/operator/kube/resource.ts";
import { readContent } from "../../src/operator/sync/content.ts";
import { fingerprint, type Fingerprint } from "./fingerprint.ts";

/** The printable part of an object; it contains no value. */
export interface ShownObject {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly ready:
    | { readonly status: string; readonly reason: string; readonly message: string }
    | undefined;
  readonly target: string | undefined;
  readonly syncedAt: string | undefined;
  /** Content of a Secret or ConfigMap by key. */
  readonly content: ReadonlyMap<string, Fingerprint>;
}

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
});
const Status = z.object({
  conditions: z.array(Condition).optional(),
  target: z.object({ kind: z.string(), name: z.string() }).optional(),
  syncedAt: z.string().optional(),
});

/** Returns the printable part of an object; values become fingerprints. */
export function showObject(object: KubeObject): ShownObject {
  const { kind, metadata } = object;
  const status = Status.safeParse(object.status).data;
  const isTarget = kind === "Secret" || kind === "ConfigMap";
  const content = isTarget ? [...readContent(kind, object)] : [];
  return {
    kind,
    name: metadata.name,
    uid: metadata.uid ?? "",
    ready: status?.conditions?.find(({ type }) => type === "Ready"),
    target: status?.target && `${status.target.kind}/${status.target.name}`,
    syncedAt: status?.syncedAt,
    content: new Map(content.map(([key, bytes]) => [key, fingerprint(bytes)])),
  };
}
