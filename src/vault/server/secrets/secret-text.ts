import { timestamp } from "../http/timestamp.ts";
import type { ListedSecret } from "../store/records.ts";
import { expiresAt, isExpired } from "./secret-record.ts";

function timestampText(ms: number): string {
  const time = timestamp(ms);
  return typeof time === "string" ? `"${time}"` : JSON.stringify(time);
}

/**
 * Returns the JSON text of `secretRecord` for the latest version. A list has up to hundreds of
 * thousands of them: the metadata, most of the text, is stored as JSON.
 */
export function secretText(
  { secret, shared, permission, latest, metadataText }: ListedSecret,
  now: number,
): string {
  const createdAt = timestampText(latest.createdAt);
  const updatedAt =
    latest.updatedAt === latest.createdAt ? createdAt : timestampText(latest.updatedAt);
  return (
    `{"key_name":${JSON.stringify(secret.name)},"key_version":${latest.version},"owner":${JSON.stringify(secret.owner)}` +
    `,"shared":${shared},"permission":"${permission}","metadata":${metadataText},"delete_time":${secret.deleteMinutes}` +
    `,"created_at":${createdAt},"updated_at":${updatedAt},"expires_at":${timestampText(expiresAt(latest))}` +
    `,"expired":${isExpired(latest, now)},"delete_at":${timestampText(secret.deleteAt)}}`
  );
}
