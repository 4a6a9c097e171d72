import type { ClusterView } from "./cluster-view.ts";
import type { ShownObject } from "./shown-object.ts";
import { table } from "./table.ts";

const resources = ["VaultConnection", "VaultSecret", "VaultFile"];

function ago(moment: string | undefined): string {
  return moment === undefined ? "-" : `${Math.max(0, Math.round((Date.now() - Date.parse(moment)) / 1000))} s ago`;
}

function resourceRow({ kind, name, ready, target, syncedAt }: ShownObject): string[] {
  return [kind, name, ready?.status ?? "-", ready?.reason ?? "-", target ?? "-", ago(syncedAt)];
}

function keyRows({ kind, name, content }: ShownObject): string[][] {
  return [...content].map(([key, { bytes, digest }]) => [kind, name, key, String(bytes), digest]);
}

/** Two tables: the resources with their state, and what their targets hold. No value: its length and its digest. */
export function summary(view: ClusterView): string {
  const objects = view.objects();
  const targets = objects.filter(({ kind }) => !resources.includes(kind));
  const states = objects.filter(({ kind }) => resources.includes(kind)).map(resourceRow);
  return [
    table(["KIND", "NAME", "READY", "REASON", "TARGET", "SYNCED"], states),
    table(["KIND", "NAME", "KEY", "BYTES", "DIGEST"], targets.flatMap(keyRows)),
  ].join("\n\n");
}
