import { isObject } from "../../../lib/is-object.ts";

/** A user of the API server and their groups. */
export interface AccessSubject {
  readonly user: string;
  readonly groups: readonly string[];
}

/** One operation on a collection. */
export interface AccessAttributes {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly namespace: string;
}

/** Decides what users are allowed to do. */
export interface AccessReviewer {
  /**
   * Reports whether the user may do this. @throws KubeError, `Forbidden` without the permission to
   * create SubjectAccessReviews
   */
  isAllowed(
    subject: AccessSubject,
    attributes: AccessAttributes,
    signal: AbortSignal,
  ): Promise<boolean>;
}

/** The path of SubjectAccessReviews: decided by the API server, never stored. */
export const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Returns the object that requests one decision. */
export const accessReview = (
  subject: AccessSubject,
  resourceAttributes: AccessAttributes,
): object => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec: { ...subject, resourceAttributes },
});

/** Reports whether the response to a review allows the operation. */
export function isAllowedBy(response: unknown): boolean {
  const status = isObject(response) ? response["status"] : undefined;
  return isObject(status) && status["allowed"] === true;
}
