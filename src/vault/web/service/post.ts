import { CSRF_HEADER } from "../../../protocol/headers.ts";
import { RequestError } from "./request-error.ts";
import { send, type Transfer } from "./send.ts";
import type { Guard } from "./shape.ts";

interface PostOptions {
  readonly csrfToken?: string;
  /** The response has status 304 and no body when the content still has this tag. */
  readonly knownTag?: string | undefined;
  readonly download?: Transfer | undefined;
}

/** Posts JSON, as `send` does. @throws RequestError */
export async function post(
  path: string,
  body: object,
  { csrfToken, knownTag, download }: PostOptions = {},
): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    ...(csrfToken !== undefined && { [CSRF_HEADER]: csrfToken }),
    ...(knownTag !== undefined && { "if-none-match": knownTag }),
  };
  return send(path, { headers, body: JSON.stringify(body), download });
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
