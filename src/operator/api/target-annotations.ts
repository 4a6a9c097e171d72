import {
  CONTENT_ANNOTATION,
  METADATA_ANNOTATION,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "./names.ts";

/** The annotations of a target that the operator sets on its own. */
export const TARGET_ANNOTATIONS: readonly string[] = [
  OWNER_ANNOTATION,
  CONTENT_ANNOTATION,
  VERSIONS_ANNOTATION,
  SOURCES_ANNOTATION,
  METADATA_ANNOTATION,
];
