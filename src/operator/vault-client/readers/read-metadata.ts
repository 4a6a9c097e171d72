import { isObject, type JsonObject } from "../../../lib/is-object.ts";

const STANDARD = [
  "application_type",
  "classification",
  "cloud_type",
  "description",
  "environment_type",
  "enviroment_type",
  "expiration_time",
] as const;

/**
 * The metadata of a listed secret: nested under `metadata`, or the standard names flat on the record, nested ones first; the
 * interface's other spelling of `environment_type` is taken for the right one.
 */
export function readMetadata(record: JsonObject): JsonObject {
  const flat = STANDARD.filter((name) => Object.hasOwn(record, name)).map((name) => [name, record[name]] as const);
  const nested = isObject(record.metadata) ? Object.entries(record.metadata) : [];
  const metadata = new Map<string, unknown>([...flat, ...nested]);
  const other = metadata.get("enviroment_type");
  if (metadata.delete("enviroment_type") && !metadata.has("environment_type")) metadata.set("environment_type", other);
  return Object.fromEntries(metadata);
}
