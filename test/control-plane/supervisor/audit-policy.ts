/**
 * Every request at Metadata level: who, what, when and the answer's code, never a body. The API server's own loopback requests
 * are left out; they are no client's.
 */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "None", users: ["system:apiserver"] }, { level: "Metadata" }],
});
