import type { FaultProxy } from "../../lab/real/fault-proxy.ts";

/**
 * Makes the API server behind a proxy one that does not stream lists: clients need `list` for it,
 * where others need `watch` only.
 */
export function withoutStreamedLists(proxy: FaultProxy): void {
  proxy.inject(({ request, response, relay }) => {
    if (!request.path.includes("sendInitialEvents")) return relay();
    const status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      reason: "Invalid",
      code: 422,
    };
    return response
      .writeHead(422, { "content-type": "application/json" })
      .end(JSON.stringify(status));
  });
}
