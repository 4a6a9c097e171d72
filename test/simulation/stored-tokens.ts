import { isDeepStrictEqual } from "node:util";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { unlimitedScope, formatScope } from "../../src/protocol/scope.ts";
import type { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";
import { accountOf, CLUSTER_ACCOUNT, PASSWORD, SYSTEM_NAMESPACE } from "./cast.ts";
import type { SimulatedVaults } from "./simulated-vaults.ts";
import { Violation } from "./violation.ts";

/**
 * Lifetime of a stored access token in hours: short enough that the operator refreshes it within an
 * episode.
 */
const LIFETIME_HOURS = 0.5;
const NAME = /^tokens-(\w)$/;
/**
 * The tokens of the simulated vaults and of ServiceAccounts. They must appear nowhere but in their
 * Secrets.
 */
export const TOKEN = /(access|refresh)-token-\d|canary-identity/;

/** Returns the name of the Secret with a pair of tokens for a vault. */
export const tokenSecretOf = (vault: string): string => `tokens-${vault}`;

const emailOf = (namespace: string): string =>
  namespace === SYSTEM_NAMESPACE ? CLUSTER_ACCOUNT : accountOf(namespace);

/** Reports whether an object is a Secret with a pair of tokens. */
export const isTokenSecret = ({ kind, metadata }: KubeObject): boolean =>
  kind === SECRETS.kind && NAME.test(metadata.name);

interface Holders {
  readonly server: InMemoryApiServer;
  readonly vaults: SimulatedVaults;
  /**
   * The accounts (`<vault> <account>`) whose tokens were revoked since users stored new ones last.
   */
  readonly revokedTokens: Set<string>;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/**
 * Logs in at a vault as the account of a namespace, and stores the pair of tokens in a Secret
 * there, as a user does.
 */
export function storeTokens(
  { server, vaults }: Omit<Holders, "revokedTokens">,
  namespace: string,
  vault: string,
): void {
  const email = emailOf(namespace);
  const body = {
    email,
    password: PASSWORD,
    scope: formatScope(unlimitedScope),
    expiration_hours: LIFETIME_HOURS,
  };
  const response = vaults.vault(vault).respond({ operation: "generate_access_token", body });
  // The password of the account may be another one now.
  if (response.status !== 200) return;
  const { access_token: access, refresh_token: refresh } = JSON.parse(
    Buffer.from(response.body).toString(),
  ) as Tokens;
  const data = {
    access_token: Buffer.from(access).toString("base64"),
    refresh_token: Buffer.from(refresh).toString("base64"),
  };
  const metadata = { namespace, name: tokenSecretOf(vault) };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, type: CREDENTIALS_TYPE, data };
  const before = server.find(SECRETS, metadata);
  if (before) server.replace(SECRETS, { ...secret, metadata: before.metadata });
  else server.create(SECRETS, secret);
}

/**
 * Replaces the pairs whose refresh tokens were revoked, and stores one for each connection that
 * lacks it, as a user does.
 */
export function renewTokens(world: Holders, namespaces: readonly string[]): void {
  for (const namespace of namespaces) {
    for (const vault of world.vaults.names) {
      const isRevoked = world.revokedTokens.has(`${vault} ${emailOf(namespace)}`);
      const isMissing =
        world.server.find(SECRETS, { namespace, name: tokenSecretOf(vault) }) === undefined;
      if (isRevoked || isMissing) storeTokens(world, namespace, vault);
    }
  }
  world.revokedTokens.clear();
}

/** Returns what a refresh of the tokens does not change. */
function othersOf({ metadata, ...rest }: KubeObject): unknown {
  return {
    ...rest,
    data: undefined,
    metadata: { ...metadata, resourceVersion: undefined, managedFields: undefined },
  };
}

/** A refreshed pair of tokens changes nothing else of its Secret, and nothing else does (I8). */
export function checkTokens(
  name: string,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): void {
  if (!before || !after) throw new Violation("I8", `the operator created or deleted ${name}`);
  if (!isDeepStrictEqual(othersOf(before), othersOf(after)))
    throw new Violation("I8", `the operator changed more than the tokens of ${name}`);
}
