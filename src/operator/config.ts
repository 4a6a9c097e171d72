import { z } from "zod";
import { secretType } from "./api/vault-secret.ts";

const listen = z.object({ host: z.string(), port: z.int().min(0).max(65_535) });

/** The name of a namespace, as the API server accepts it (RFC 1123). */
const namespaceName = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "expected the name of a namespace");

/** All settings of the operator; `vaultsync operator --help` describes them. */
const schema = z
  .object({
    kubeconfig: z.string().min(1).optional(),
    namespace: z.string().min(1).optional(),
    namespaces: z.array(namespaceName).min(1).optional(),
    targetWatch: z.enum(["on", "off"]).default("on"),
    leaderElect: z.boolean().default(true),
    shards: z.int().min(1).max(64).default(1),
    listen: listen.default({ host: "0.0.0.0", port: 8080 }),
    allowHttp: z.boolean().default(false),
    vaultHosts: z.array(z.string().min(1)).min(1).optional(),
    allowedSecretTypes: z.array(secretType).default([]),
    valueCacheBytes: z
      .int()
      .min(0)
      .default(16 * 1024 * 1024),
    concurrency: z.int().min(1).max(256).default(32),
    restartWindow: z
      .int()
      .refine((ms) => ms >= 1_000 && ms <= 3_600_000, "expected 1s to 1h")
      .default(30_000),
    autoRestart: z.enum(["on", "off"]).default("on"),
    resync: z
      .int()
      .refine((ms) => ms === 0 || ms >= 60_000, "expected 0 or at least 1m")
      .default(30 * 60_000),
  })
  .refine(({ leaderElect, shards }) => leaderElect || shards === 1, {
    path: ["shards"],
    message: "must be 1 without leader election: the Leases of the shards keep two replicas from writing the same objects",
  });

export type OperatorConfig = Readonly<z.output<typeof schema>>;
export type OperatorFlags = z.input<typeof schema>;

/** Returns the flags with their defaults, validated and frozen. @throws ZodError, whose paths are the names of the flags */
export function operatorConfig(flags: OperatorFlags): OperatorConfig {
  return Object.freeze(schema.parse(flags));
}
