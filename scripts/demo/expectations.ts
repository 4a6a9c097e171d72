import type { Change } from "./cluster-view.ts";
import { isEqual, type Fingerprint } from "./fingerprint.ts";
import type { UploadedFile } from "../../src/protocol/responses.ts";

type Expectation = (change: Change) => boolean;

/** Matches an object that contains exactly these keys with these values. */
export function hasContent(
  kind: string,
  name: string,
  expected: Readonly<Record<string, Fingerprint>>,
): Expectation {
  const keys = Object.entries(expected);
  return ({ type, object }) =>
    type !== "deleted" &&
    object.kind === kind &&
    object.name === name &&
    object.content.size === keys.length &&
    keys.every(([key, print]) => isEqual(object.content.get(key), print));
}

/** Matches a resource with Ready=True. */
export function isReady(kind: string, name: string): Expectation {
  return ({ object }) =>
    object.kind === kind && object.name === name && object.ready?.status === "True";
}

/** Matches a resource whose Ready condition has this reason. */
export function hasReason(kind: string, name: string, reason: string): Expectation {
  return ({ object }) =>
    object.kind === kind && object.name === name && object.ready?.reason === reason;
}

export function isDeleted(kind: string, name: string): Expectation {
  return ({ type, object }) => type === "deleted" && object.kind === kind && object.name === name;
}

/** Matches the ConfigMap web-files with exactly these files, by size and SHA-256. */
export function hasFiles(files: readonly UploadedFile[]): Expectation {
  return ({ type, object }) =>
    type !== "deleted" &&
    object.kind === "ConfigMap" &&
    object.name === "web-files" &&
    object.content.size === files.length &&
    files.every(({ filename, size, sha256 }) => {
      const print = object.content.get(filename);
      return print?.bytes === size && print.sha256 === sha256;
    });
}
