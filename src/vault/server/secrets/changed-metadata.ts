import { mergeMetadata, type Metadata } from "../../../protocol/metadata.ts";
import { errors } from "../errors.ts";
import type { Limits } from "../limits.ts";

/**
 * Returns the metadata of a version with the changes of a request. The result is limited, because
 * it grows with each request, every new version copies it, and lists contain it.
 * @throws ServiceError `too_large`; `invalid_request` when it has too many names
 */
export function changedMetadata(
  { metadataBytes, metadataNames }: Limits,
  base: Metadata,
  changes: Metadata,
): Metadata {
  const metadata = mergeMetadata(base, changes);
  if (Object.keys(metadata).length > metadataNames)
    throw errors.invalidRequest(
      "metadata",
      `a version has at most ${metadataNames} names, those that it had included`,
    );
  if (Buffer.byteLength(JSON.stringify(metadata), "utf8") > metadataBytes)
    throw errors.metadataTooLarge(metadataBytes);
  return metadata;
}
