import type { Command } from "./commands.ts";
import { accountOf, urlOf } from "./world.ts";

export const NAMESPACE = "one";
/** The secret that the resources of these scenes refer to. */
export const ENTRY = { vault: "a", owner: accountOf(NAMESPACE), name: "s1" } as const;

const CONNECTION_SPEC = {
  url: urlOf("a"),
  email: accountOf(NAMESPACE),
  auth: { passwordSecretRef: { name: "login" } },
  refreshInterval: "5s",
  follow: "Interval",
};

export const connection = (changes: object = {}, name = "main"): Command => ({
  type: "put",
  kind: "VaultConnection",
  namespace: NAMESPACE,
  name,
  spec: { ...CONNECTION_SPEC, ...changes },
});

/** A VaultSecret with the secret `s1` under the key `k1`. */
export const resource = (name: string, changes: object = {}): Command => ({
  type: "put",
  kind: "VaultSecret",
  namespace: NAMESPACE,
  name,
  spec: {
    connectionRef: { name: "main" },
    data: [{ secretKey: "k1", remoteRef: { key: "s1" } }],
    ...changes,
  },
});

export const advance = (ms: number): Command => ({ type: "advance", ms });

/** A resource that is in sync, and waits for nothing any more. */
export const SYNCED: readonly Command[] = [
  connection(),
  { type: "write-secret", ...ENTRY },
  resource("alpha"),
  advance(300_000),
];
