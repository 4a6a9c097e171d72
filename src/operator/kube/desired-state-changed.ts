import type { KubeObject } from "./resource.ts";

/**
 * Reports whether two states of an object differ in anything that a controller follows: not in the
 * status and other annotations.
 */
export function desiredStateChanged(
  { metadata: before }: KubeObject,
  { metadata: now }: KubeObject,
  annotations: readonly string[],
): boolean {
  return (
    before.uid !== now.uid ||
    before.generation !== now.generation ||
    before.deletionTimestamp !== now.deletionTimestamp ||
    (before.finalizers ?? []).join() !== (now.finalizers ?? []).join() ||
    annotations.some((name) => before.annotations?.[name] !== now.annotations?.[name])
  );
}
