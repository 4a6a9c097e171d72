import { request } from "node:https";

/** Address and credentials of an API server. */
export interface ApiAccess {
  readonly server: string;
  /** PEM of the certificate authority. */
  readonly ca: string;
  readonly token: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: string;
}

/**
 * Sends one JSON request on a separate connection and returns the response, whatever its status.
 * @throws Error without a complete response within `timeoutMs`
 */
export function apiRequest(
  access: ApiAccess,
  options: {
    method?: string;
    path: string;
    body?: unknown;
    timeoutMs?: number;
    /** Added to the headers of a JSON request, or instead of one of them. */
    headers?: Readonly<Record<string, string>>;
  },
): Promise<ApiResponse> {
  const payload = options.body === undefined ? undefined : JSON.stringify(options.body);
  return new Promise((resolve, reject) => {
    const sent = request(new URL(options.path, access.server), {
      method: options.method ?? "GET",
      ca: access.ca,
      agent: false,
      signal: AbortSignal.timeout(options.timeoutMs ?? 10_000),
      headers: {
        authorization: `Bearer ${access.token}`,
        accept: "application/json",
        "user-agent": "vaultsync-test",
        ...(payload === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
        ...options.headers,
      },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    sent.end(payload);
  });
}
