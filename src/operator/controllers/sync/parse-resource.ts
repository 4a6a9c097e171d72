import type { z } from "zod";
import { ACCEPT_ANNOTATION } from "../../api/names.ts";
import { explainProblems } from "../../api/validation.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { notReady } from "../../sync/ready-condition.ts";
import type { ParsedResource } from "./source-kind.ts";

interface CommonSpec {
  readonly connectionRef: { readonly name: string };
  readonly suspend?: boolean | undefined;
}

function accepted(object: KubeObject): Set<string> {
  const text = object.metadata.annotations?.[ACCEPT_ANNOTATION] ?? "";
  return new Set(text.split(",").map((pair) => pair.trim()));
}

/** Parses a resource whose spec has this schema; `desiredState` derives the target and its items from the spec. */
export function parseResource<S extends CommonSpec>(
  kind: SyncResource["kind"],
  schema: z.ZodType<S>,
  object: KubeObject,
  desiredState: (spec: S, name: string) => Pick<SyncResource, "items" | "target" | "whenRemoved">,
): ParsedResource {
  const { metadata } = object;
  const identity = {
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 0,
    accepted: accepted(object),
  };
  const parsed = schema.safeParse(object.spec);
  if (parsed.success) {
    const { connectionRef, suspend = false } = parsed.data;
    return {
      ok: true,
      resource: { ...identity, connection: connectionRef.name, suspend, ...desiredState(parsed.data, metadata.name) },
    };
  }
  const target = { kind: kind === "VaultSecret" ? "Secret" : "ConfigMap", name: metadata.name, type: undefined } as const;
  return {
    ok: false,
    resource: { ...identity, connection: "", suspend: false, items: [], target, whenRemoved: "Retain" },
    readyCondition: notReady("InvalidSpec", explainProblems(parsed.error)),
  };
}
