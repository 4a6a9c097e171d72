import { CSRF_HEADER } from "../../../protocol/headers.ts";
import { RequestError, errorFromBody, unreachable } from "./request-error.ts";
import { withDeadline } from "./response-deadline.ts";
import type { Guard } from "./shape.ts";

/**
 * Posts JSON to the vault that served this page, with the session cookie. The whole body of the
 * response has arrived. With `knownTag`, the response has status 304 and no body when the content
 * still has this tag.
 * @throws RequestError for an error response, without a response, and `timed_out` when the response
 * takes too long
 */
export async function post(
  path: string,
  body: object,
  csrfToken?: string,
  knownTag?: string,
): Promise<Response> {
  const request: RequestInit = {
    method: "POST",
    credentials: "same-origin",
    headers: {
      "content-type": "application/json",
      ...(csrfToken !== undefined && { [CSRF_HEADER]: csrfToken }),
      ...(knownTag !== undefined && { "if-none-match": knownTag }),
    },
    body: JSON.stringify(body),
  };
  const response = await withDeadline((signal) => fetch(path, { ...request, signal })).catch(
    (error: unknown) => {
      throw error instanceof RequestError ? error : unreachable();
    },
  );
  if (!response.ok && response.status !== 304) {
    throw errorFromBody(
      response.status,
      await response.text(),
      response.headers.get("retry-after"),
    );
  }
  return response;
}

/**
 * Parses the body of a response. @throws RequestError `invalid_response` when it has another shape
 */
export async function readJson<T>(response: Response, guard: Guard<T>): Promise<T> {
  const body: unknown = await response.json().catch(() => undefined);
  if (guard(body)) return body;
  throw new RequestError(
    "invalid_response",
    "The vault's response cannot be read. Reload the page: the server may have been updated.",
  );
}
