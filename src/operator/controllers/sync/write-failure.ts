import { ADOPT_ANNOTATION, FIELD_MANAGER } from "../../api/names.ts";
import {
  isKubeError,
  type KubeError,
  OWNER_DENIED,
  OWNER_UNKNOWN,
  permissionDenied,
} from "../../kube/kube-error.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import { reportOf } from "../../sync/report.ts";
import { ownerName } from "../../sync/target.ts";
import { DONE, type Failure, lasting, waitFor } from "../outcome/outcome.ts";
import type { SyncResult } from "./sync-result.ts";
import { firstOf } from "../../lib/first-of.ts";

/**
 * Retry interval in milliseconds for failures whose fix the operator cannot observe, such as a
 * permission or a quota.
 */
const SLOW_RETRY_MS = 60_000;

/** Retry interval in milliseconds while the API server has not noticed a new CRD. */
const NEW_KIND_RETRY_MS = 5_000;

/**
 * Returns only the fields that the API server names: its messages may quote values. See
 * docs/design/security.md#api-server-messages.
 */
function fields(error: KubeError): string {
  return (
    error.causes
      .filter(({ field }) => field !== "")
      .map(({ field, reason }) => `${field} (${reason})`)
      .join(", ") ||
    error.reason ||
    error.kind
  );
}

const isTooLong = (error: KubeError): boolean =>
  error.causes.some(
    ({ field, reason }) => field.startsWith("data") && reason === "FieldValueTooLong",
  );

const isImmutable = (error: KubeError): boolean =>
  error.causes.some(({ field }) =>
    ["type", "data", "binaryData", "immutable"].includes(field.split(".")[0] ?? ""),
  );

const hasOtherType = (error: KubeError): boolean =>
  error.causes.every(({ field }) => field === "type");

/** Reports whether the API server rejects every change of the content of an object. */
export const isFixed = (error: KubeError): boolean => isImmutable(error) && !hasOtherType(error);

/** Returns what of an existing object cannot be changed. */
const whyImmutable = (error: KubeError): string =>
  hasOtherType(error)
    ? "exists with another type, which Kubernetes never changes"
    : `cannot be changed (${fields(error)})`;

function remedyOf(resource: SyncResource, error: KubeError): string {
  if (isMerged(resource))
    return "delete it and create it again without immutable; creationPolicy Merge only adds keys to it";
  if (resource.policy.immutable)
    return "target.immutable is true; delete it, and the operator recreates it with the current content. To follow the vault, unset target.immutable before";
  return `${hasOtherType(error) ? "set target.type to its type, or " : ""}delete it; the operator recreates it`;
}

const ownedByOthers = ({ causes }: KubeError): KubeError["causes"] =>
  causes.filter(({ manager }) => manager !== undefined);

const keyIn = ({ field }: KubeError["causes"][number]): string =>
  field.replace(/^[.](data|binaryData)[.]/, "");

/** Returns the keys of other field managers that prevent an apply. */
export const keysOfOthers = (error: KubeError): string[] => ownedByOthers(error).map(keyIn);

/** Reports whether another resource of the operator has merged some of those keys. */
export const isOfResource = (error: KubeError): boolean =>
  ownedByOthers(error).some(({ manager }) => manager?.startsWith(`${FIELD_MANAGER}:`));

/** Returns the failure for keys of other field managers; `undefined` for a concurrent change. */
function conflictOver(error: KubeError, resource: SyncResource): Failure | undefined {
  const { target } = resource;
  const owned = ownedByOthers(error);
  if (owned.length === 0) return undefined;
  const keys = firstOf(owned, { text: (cause) => `${keyIn(cause)} (${cause.manager})` });
  const handOver = isOfResource(error)
    ? ""
    : `, or hand them over with the annotation ${ADOPT_ANNOTATION}: ${ownerName(resource)}`;
  const message = `the ${target.kind} ${target.name} has keys that belong to other field managers: ${keys}. Remove them there, choose other keys${handOver}`;
  return lasting("TargetConflict", message, DONE);
}

/**
 * Maps an error of the API server while writing a target; `undefined` if the caller has to handle
 * it.
 */
export function writeFailure(error: unknown, resource: SyncResource): Failure | undefined {
  if (!isKubeError(error)) return undefined;
  const target = `the ${resource.target.kind} ${resource.target.name}`;
  const later = waitFor("time", SLOW_RETRY_MS);
  // Unless it says otherwise, a policy rejects as invalid.
  if (error.deniedBy !== undefined)
    return lasting("TargetForbidden", whyForbidden(error, resource), later);
  switch (error.kind) {
    case "Conflict":
      return conflictOver(error, resource);
    case "Invalid":
      if (isTooLong(error)) return tooLargeFor(target);
      return isImmutable(error)
        ? lasting(
            "TargetImmutable",
            `${target} ${whyImmutable(error)}: ${remedyOf(resource, error)}`,
            DONE,
          )
        : lasting("TargetRejected", `the API server rejected ${target}: ${fields(error)}`, later);
    case "TooLarge":
      return tooLargeFor(target);
    case "Forbidden":
      if (error.reason === OWNER_UNKNOWN) return ownerUnknown(resource);
      return lasting("TargetForbidden", whyForbidden(error, resource), later);
    case "QuotaExceeded":
      return lasting(
        "QuotaExceeded",
        `a quota of the namespace ${resource.namespace} does not allow ${target}: raise the quota, or free some of it`,
        later,
      );
    default:
      return undefined;
  }
}

/**
 * Returns the result of a reconcile that was denied to read a target or to remove a former one.
 * `report`: what it found before.
 * @throws any other error
 */
export function deniedResult(
  error: unknown,
  resource: SyncResource,
  report = reportOf(undefined),
): SyncResult {
  const denial = isKubeError(error, "Forbidden") ? writeFailure(error, resource) : undefined;
  if (denial === undefined) throw error;
  return { report: { ...report, readyCondition: denial.condition }, next: denial.next };
}

/**
 * Right after the CRDs were installed, the API server denies targets with an owner for up to 30 s.
 */
function ownerUnknown({ kind }: SyncResource): Failure {
  const message = `the API server does not accept owners of the kind ${kind} yet: it learns of a new CRD within 30 s`;
  return lasting("TargetForbidden", message, waitFor("time", NEW_KIND_RETRY_MS));
}

function whyForbidden({ deniedBy, reason, operation }: KubeError, { kind }: SyncResource): string {
  if (deniedBy !== undefined)
    return `${deniedBy} denies to ${operation}: choose another target, or ask an administrator to change it`;
  const request = operation.replace(/^replace /, "update ").replace(/^apply /, "patch ");
  const permission = reason === OWNER_DENIED ? `update ${kind.toLowerCase()}s/finalizers` : request;
  return permissionDenied(permission);
}

const tooLargeFor = (target: string): Failure =>
  lasting(
    "TooLarge",
    `the API server rejected ${target} as too large: split the content over several targets`,
    DONE,
  );
