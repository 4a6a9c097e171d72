import { errorFromBody, timedOut, unreachable, RequestError } from "./request-error.ts";
import { startDeadline } from "./response-deadline.ts";
import { CSRF_HEADER } from "../../../protocol/headers.ts";
import type { Guard } from "./shape.ts";

/** A file that is sent or received: its progress, and a signal that stops it. */
export interface Transfer {
  /** Receives the fraction of the file that was sent or received, from 0 to 1. */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData;
  readonly upload?: Transfer | undefined;
  readonly download?: Transfer | undefined;
}

/** Response headers that the application reads. */
const READ_HEADERS = ["etag", "retry-after"];

function responseOf(request: XMLHttpRequest): Response {
  const { status, response: body } = request;
  const headers = READ_HEADERS.flatMap((name): [string, string][] => {
    const value = request.getResponseHeader(name);
    return value === null ? [] : [[name, value]];
  });
  // Without a body, as with status 304, a response takes no blob.
  return new Response(body instanceof Blob && body.size > 0 ? body : null, { status, headers });
}

/** Calls `onProgress` of a transfer with each step in one direction. */
function follow(target: XMLHttpRequestEventTarget, transfer: Transfer | undefined): void {
  target.addEventListener("progress", ({ loaded, total }) =>
    transfer?.onProgress(total > 0 ? loaded / total : 0),
  );
}

function sendOnce(path: string, { headers, body, upload, download }: Sent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const signal = (upload ?? download)?.signal;
    // Of a request that is sent again after a login.
    signal?.throwIfAborted();
    const deadline = startDeadline(() => {
      reject(timedOut());
      request.abort();
    });
    request.open("POST", path);
    request.responseType = "blob";
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    follow(request.upload, upload);
    follow(request, download);
    request.upload.addEventListener("progress", deadline.extend);
    request.addEventListener("readystatechange", deadline.extend);
    request.addEventListener("progress", deadline.extend);
    request.addEventListener("load", () => resolve(responseOf(request)));
    request.addEventListener("error", () => reject(unreachable()));
    request.addEventListener("abort", () => reject(signal?.reason));
    request.addEventListener("loadend", deadline.end);
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(body);
  });
}

/**
 * Posts to the vault that served this page, with the session cookie. The whole body of the response
 * has arrived. With `fetch` there is no progress of an upload, and browsers list a response that is
 * read step by step as aborted.
 * @throws RequestError for an error response, `unreachable` without a response, and `timed_out`
 * after 30 seconds without progress; the signal's reason after an abort
 */
export async function send(path: string, sent: Sent): Promise<Response> {
  const response = await sendOnce(path, sent);
  if (response.ok || response.status === 304) return response;
  const { status, headers } = response;
  throw errorFromBody(status, await response.text(), headers.get("retry-after"));
}

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
