import type { Change } from "./cluster-view.ts";
import { equal, type Fingerprint } from "./fingerprint.ts";
import type { UploadedFile } from "./vault-account.ts";

type Expectation = (change: Change) => boolean;

/** Exactly these keys with these values. */
export function holds(kind: string, name: string, expected: Readonly<Record<string, Fingerprint>>): Expectation {
  const keys = Object.entries(expected);
  return ({ type, object }) =>
    type !== "deleted" &&
    object.kind === kind &&
    object.name === name &&
    object.content.size === keys.length &&
    keys.every(([key, print]) => equal(object.content.get(key), print));
}

/** The resource says that all is well. */
export function becomesReady(kind: string, name: string): Expectation {
  return ({ object }) => object.kind === kind && object.name === name && object.ready?.status === "True";
}

/** The resource gives this reason for its Ready condition. */
export function hasReason(kind: string, name: string, reason: string): Expectation {
  return ({ object }) => object.kind === kind && object.name === name && object.ready?.reason === reason;
}

export function isDeleted(kind: string, name: string): Expectation {
  return ({ type, object }) => type === "deleted" && object.kind === kind && object.name === name;
}

/** The ConfigMap web-files holds exactly these files, by size and sha256. */
export function haveFiles(files: readonly UploadedFile[]): Expectation {
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
