import type { Change } from "./cluster-view.ts";
import { equal, showPrint } from "./fingerprint.ts";
import type { ShownObject } from "./shown-object.ts";

/** One change as a line without a value; `undefined` when nothing that a person would care for has changed. */
export function describeChange({ type, before, object }: Change): string | undefined {
  const name = `${object.kind} ${object.name}`;
  if (type === "deleted") return `${name} deleted`;
  if (object.kind === "Secret" || object.kind === "ConfigMap") {
    const keys = differences(before, object);
    if (keys.length === 0 && type !== "added") return undefined;
    return `${name} ${type}: ${keys.join("; ")}`;
  }
  const { ready } = object;
  if (type === "added") return `${name} added`;
  if (ready === undefined || (ready.status === before?.ready?.status && ready.reason === before.ready.reason)) return undefined;
  return `${name} is Ready=${ready.status}, ${ready.reason}${ready.status === "True" ? "" : `: ${ready.message}`}`;
}

function differences(before: ShownObject | undefined, { content }: ShownObject): string[] {
  const now = [...content]
    .filter(([key, print]) => !equal(before?.content.get(key), print))
    .map(([key, print]) => `${key} ${showPrint(print)}`);
  const gone = [...(before?.content.keys() ?? [])].filter((key) => !content.has(key)).map((key) => `${key} gone`);
  return [...now, ...gone];
}
