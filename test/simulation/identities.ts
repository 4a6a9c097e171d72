import { SERVICE_ACCOUNTS } from "../../src/operator/kube/resource.ts";
import type { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { accountOf, CLUSTER_ACCOUNT, NAMESPACES, SYSTEM_NAMESPACE } from "./cast.ts";
import type { Command } from "./commands.ts";
import type { SimulatedVaults } from "./simulated-vaults.ts";

/** Name of the ServiceAccount of each namespace. */
const NAME = "vaultsync";

/** Changes of the ServiceAccount of a namespace, and of what the vaults know of it. */
const identityChanges = ["remove-account", "remove-identity", "repair"] as const;

export interface IdentityCommand {
  readonly type: "identity";
  readonly namespace: string;
  readonly how: (typeof identityChanges)[number];
}

/**
 * Share of the episodes with connections that log in with ServiceAccounts, of these connections, of
 * those that name the audience, and of the commands that are followed by a change.
 */
const SHARES = { episodes: 0.35, connections: 0.6, audience: 0.4, commands: 0.02 };

interface Cluster {
  readonly server: InMemoryApiServer;
  readonly vaults: SimulatedVaults;
}

/** Creates the ServiceAccount of a namespace, and its identity at the vaults, if they do not exist. */
export function addIdentity({ server, vaults }: Cluster, namespace: string): void {
  const metadata = { namespace, name: NAME };
  if (server.find(SERVICE_ACCOUNTS, metadata) === undefined)
    server.create(SERVICE_ACCOUNTS, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  setIdentity(vaults, namespace, true);
}

function setIdentity(vaults: SimulatedVaults, namespace: string, isKnown: boolean): void {
  const account = namespace === SYSTEM_NAMESPACE ? CLUSTER_ACCOUNT : accountOf(namespace);
  const subject = `system:serviceaccount:${namespace}:${NAME}`;
  for (const vault of vaults.names)
    vaults.vault(vault).setIdentity(subject, isKnown ? account : undefined);
}

/** Changes an identity as an administrator does. @throws StatusError */
export function changeIdentity(cluster: Cluster, { namespace, how }: IdentityCommand): void {
  switch (how) {
    case "remove-account":
      return cluster.server.delete(SERVICE_ACCOUNTS, { namespace, name: NAME });
    case "remove-identity":
      return setIdentity(cluster.vaults, namespace, false);
    case "repair":
      return addIdentity(cluster, namespace);
  }
}

interface Connection {
  readonly url?: string;
  readonly auth?: { readonly passwordSecretRef?: object };
}

/**
 * Returns the commands with connections that log in with ServiceAccounts, in some episodes: the
 * commands of all others are unchanged.
 */
export function withIdentities(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x1de7);
  if (random() >= SHARES.episodes) return [...commands];
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const withAccount = (spec: object): object => {
    const { url = "", auth = {} } = spec as Connection;
    if (auth.passwordSecretRef === undefined || random() >= SHARES.connections) return spec;
    const audience = random() < SHARES.audience ? { audience: url } : {};
    return { ...spec, auth: { serviceAccountRef: { name: NAME, ...audience } } };
  };
  const changed = (command: Command): Command =>
    command.type === "put-cluster-connection" ||
    (command.type === "put" && command.kind === "VaultConnection")
      ? { ...command, spec: withAccount(command.spec) }
      : command;
  const change = (): Command => ({
    type: "identity",
    namespace: pick([...NAMESPACES, SYSTEM_NAMESPACE]),
    how: pick(identityChanges),
  });
  return commands
    .flatMap((command) =>
      random() < SHARES.commands ? [changed(command), change()] : [changed(command)],
    )
    .slice(0, commands.length);
}
