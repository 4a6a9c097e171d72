/**
 * Logs every request at Metadata level: user, verb, object, time and status, never a body. Loopback
 * requests of the API server itself are omitted.
 */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "None", users: ["system:apiserver"] }, { level: "Metadata" }],
});
