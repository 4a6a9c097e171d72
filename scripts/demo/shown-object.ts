import { createHash, createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { CONTENT_ANNOTATION } from "../../src/operator/api/names.ts";
import type { KubeObject } from "../../src/operator/kube/resource.ts";
import { readContent } from "../../src/operator/sync/content.ts";

/**
 * The only form in which the demo prints a value: its length, and a digest that is comparable only
 * within this run.
 */
export interface Fingerprint {
  readonly bytes: number;
  readonly digest: string;
  /**
   * The SHA-256 of a file. Never printed for a secret: a plain hash of a short value can be
   * guessed.
   */
  readonly sha256: string;
}

const runKey = randomBytes(32);

/** Returns the fingerprint of a value; equal values have equal fingerprints within one run. */
export function fingerprint(value: string | Uint8Array): Fingerprint {
  return {
    bytes: Buffer.byteLength(value),
    digest: createHmac("sha256", runKey).update(value).digest("hex").slice(0, 12),
    sha256: createHash("sha256").update(value).digest("hex"),
  };
}

export const isEqual = (a: Fingerprint | undefined, b: Fingerprint | undefined): boolean =>
  a !== undefined && b !== undefined && a.bytes === b.bytes && a.digest === b.digest;

export const formatFingerprint = ({ bytes, digest }: Fingerprint): string =>
  `${bytes} bytes, digest ${digest}`;

/** The printable part of an object; it contains no value. */
export interface ShownObject {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly ready:
    | { readonly status: string; readonly reason: string; readonly message: string }
    | undefined;
  /** The condition UpdateAvailable, if it is True. */
  readonly waits: { readonly reason: string; readonly message: string } | undefined;
  readonly target: string | undefined;
  /** Result of the last restart of a workload for a resource. */
  readonly rollout: string | undefined;
  /** Annotation of the pod template of a Deployment that each restart changes. */
  readonly restart: string | undefined;
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
  restarts: z.array(z.object({ result: z.string() })).optional(),
});
const Template = z.object({
  template: z.object({
    metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }),
  }),
});

/** Returns the printable part of an object; values become fingerprints. */
export function showObject(object: KubeObject): ShownObject {
  const { kind, metadata } = object;
  const status = Status.safeParse(object.status).data;
  const isTarget = kind === "Secret" || kind === "ConfigMap";
  const conditions = status?.conditions ?? [];
  const template = Template.safeParse(object["spec"]).data?.template;
  const content = isTarget ? [...readContent(kind, object)] : [];
  return {
    kind,
    name: metadata.name,
    uid: metadata.uid ?? "",
    ready: conditions.find(({ type }) => type === "Ready"),
    waits: conditions.find(({ type, status: is }) => type === "UpdateAvailable" && is === "True"),
    target: status?.target && `${status.target.kind}/${status.target.name}`,
    rollout: status?.restarts?.[0]?.result,
    restart: template?.metadata.annotations?.[CONTENT_ANNOTATION],
    syncedAt: status?.syncedAt,
    content: new Map(content.map(([key, bytes]) => [key, fingerprint(bytes)])),
  };
}
