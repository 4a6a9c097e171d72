import { stringify } from "yaml";
import { utf8Text } from "../../lib/utf8-text.ts";
import { byKey, renderContent } from "../../sync/content.ts";
import { isMerged } from "../../sync/sync-resource.ts";
import type { LocalTarget } from "./local-targets.ts";
import type { Variables } from "./variables.ts";

const hasMore = (of: Readonly<Record<string, string>>): boolean => Object.keys(of).length > 0;

/**
 * Returns a target as the operator writes it, without the marks by which an operator knows its
 * targets. Of a target that is merged into an object, only its keys.
 */
export function targetObject({ resource, content }: LocalTarget): object {
  const { namespace, policy, target } = resource;
  const { kind, name, type } = target;
  const fields = Object.entries(renderContent(kind, content)).filter(([, of]) => hasMore(of));
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      name,
      namespace,
      ...(hasMore(policy.labels) && { labels: policy.labels }),
      ...(hasMore(policy.annotations) && { annotations: policy.annotations }),
    },
    ...(kind === "Secret" && !isMerged(resource) && { type: type ?? "Opaque" }),
    ...(policy.immutable && { immutable: true }),
    ...Object.fromEntries(fields),
  };
}

/** Returns targets as manifests. */
export const formatManifests = (targets: readonly LocalTarget[]): string =>
  targets.map((target) => stringify(targetObject(target), { lineWidth: 0 })).join("---\n");

/** Returns targets as JSON: text in `data`, base64 of anything else in `binaryData`. */
export function formatJson(targets: readonly LocalTarget[]): string {
  const shown = targets.map(({ resource, content }) => {
    const { kind, name, type } = resource.target;
    const data: [string, string][] = [];
    const binaryData: [string, string][] = [];
    for (const [key, bytes] of [...content].sort(byKey)) {
      const text = utf8Text(bytes);
      if (text === undefined) binaryData.push([key, Buffer.from(bytes).toString("base64")]);
      else data.push([key, text]);
    }
    return {
      kind,
      namespace: resource.namespace,
      name,
      ...(kind === "Secret" && !isMerged(resource) && { type: type ?? "Opaque" }),
      data: Object.fromEntries(data),
      ...(binaryData.length > 0 && { binaryData: Object.fromEntries(binaryData) }),
    };
  });
  return `${JSON.stringify({ targets: shown }, undefined, 2)}\n`;
}

/**
 * Returns the lines `NAME='value'`: a shell, systemd, Docker Compose, Node and the kubelet read them
 * alike, unless a value has a quote or a carriage return.
 */
export const formatVariables = (variables: Variables): string =>
  [...variables].map(([name, value]) => `${name}='${value}'\n`).join("");
