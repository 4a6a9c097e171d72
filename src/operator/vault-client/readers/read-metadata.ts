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
 * Returns the metadata of a listed secret: nested under `metadata`, or flat on the record under the
 * standard names; nested values take precedence. The misspelling `enviroment_type` of the interface
 * counts as `environment_type`.
 */
export function readMetadata(record: JsonObject): JsonObject {
  const flat = STANDARD.filter((name) => Object.hasOwn(record, name)).map(
    (name) => [name, record[name]] as const,
  );
  const nested = isObject(record.metadata) ? Object.entries(record.metadata) : [];
  const metadata = new Map<string, unknown>([...flat, ...nested]);
  const misspelled = metadata.get("enviroment_type");
  if (metadata.delete("enviroment_type") && !metadata.has("environment_type"))
    metadata.set("environment_type", misspelled);
  return Object.fromEntries(metadata);
}
