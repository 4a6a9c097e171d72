import { isObject } from "../../lib/is-object.ts";
import type { ObjectMeta } from "./resource.ts";

/**
 * Returns the time of the last change that writers whose field manager begins with a name made, on
 * the clock of the API server, in milliseconds since the epoch; `undefined` if the object does not
 * say it.
 */
export function writtenBy(manager: string, { managedFields = [] }: ObjectMeta): number | undefined {
  const times = managedFields.flatMap((entry) => {
    if (!isObject(entry) || typeof entry["time"] !== "string") return [];
    const { manager: name } = entry;
    const isWriter = typeof name === "string" && name.startsWith(manager);
    const at = Date.parse(entry["time"]);
    return isWriter && !Number.isNaN(at) ? [at] : [];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

/**
 * Returns the time of the last change of an object, in milliseconds since the epoch, or of one of
 * its annotations; of its creation if its `managedFields` do not say it.
 */
export function writtenAt(
  { managedFields = [], creationTimestamp = "" }: ObjectMeta,
  annotation?: string,
): number {
  const times = managedFields.flatMap((entry) => {
    if (!isObject(entry) || typeof entry["time"] !== "string") return [];
    const time = Date.parse(entry["time"]);
    return Number.isNaN(time) || !isManagerOf(entry["fieldsV1"], annotation) ? [] : [time];
  });
  const created = Date.parse(creationTimestamp);
  return Math.max(...times, Number.isNaN(created) ? 0 : created);
}

/** Reports whether fields have an annotation; all count if they are not known. */
function isManagerOf(fields: unknown, annotation: string | undefined): boolean {
  if (annotation === undefined || !isObject(fields)) return true;
  const metadata = fields["f:metadata"];
  const annotations = isObject(metadata) ? metadata["f:annotations"] : undefined;
  return isObject(annotations) && `f:${annotation}` in annotations;
}
