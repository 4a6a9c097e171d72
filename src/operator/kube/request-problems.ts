import { isKubeError } from "./kube-error.ts";
import { ALL_NAMESPACES } from "./resource.ts";

/** The subject of a request. */
export interface RequestSubject {
  readonly resource: string;
  /** The served namespace that it reads, or `ALL_NAMESPACES`. */
  readonly namespace?: string | undefined;
  /** The operator's own namespace, for a request about its Leases or content key. */
  readonly ownNamespace?: string | undefined;
}

/** Receives the failures of requests that are retried until they succeed. */
export interface RequestProblems {
  /** Takes in that a request failed; `request` identifies it. */
  failed(request: object, subject: RequestSubject, error: unknown): void;
  /** Takes in that the request succeeded, or is not needed any more. */
  recovered(request: object): void;
}

/** A request that failed last time. */
export interface FailedRequest {
  readonly subject: RequestSubject;
  readonly error: unknown;
}

/**
 * Reports whether the API server denies one namespace, or has no namespace of this name. Other
 * namespaces may work nevertheless.
 */
export function isDenied({ namespace = ALL_NAMESPACES }: RequestSubject, error: unknown): boolean {
  return namespace !== ALL_NAMESPACES && isKubeError(error, "Forbidden", "NotFound");
}
