import { ClusterAccess } from "../controllers/connection/cluster-access.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import {
  type KubeObject,
  NAMESPACES,
  type ObjectRef,
  type ResourceDescriptor,
  SECRETS,
} from "../kube/resource.ts";
import { type Check, type Checks, someOf, checksOf } from "./check.ts";
import type { NamedReferences } from "./references-of.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { clusterVaultConnectionKind } from "../api/kinds.ts";
import { type ConnectionSpec, connectionStatus } from "../api/vault-connection.ts";
import { readCaBundle } from "../controllers/connection/ca-bundle.ts";
import {
  audienceOf,
  type ConnectionFacts,
  factsOf,
  credentialsName,
} from "../connection/connection-facts.ts";
import { connectionProblem } from "../connection/connection-problem.ts";
import { parseConnection } from "../connection/parse-connection.ts";
import { settingsOf } from "../connection/connection-settings.ts";
import { credentialSource } from "../controllers/connection/credential-source.ts";
import type { CredentialSource } from "../vault-client/auth/credentials.ts";
import { type HostPolicy, refusalOf } from "../vault-client/http/host-policy.ts";
import { UndiciTransport } from "../vault-client/http/undici-transport.ts";
import { isVaultError, RefusedError } from "../vault-client/vault-error.ts";
import { trustOf } from "../api/received-secrets.ts";
import { checkVault } from "./check-vault.ts";

interface AccessCheckOptions {
  readonly api: KubeApi;
  /** Namespace of the resources. */
  readonly namespace: string;
  /**
   * The names that the namespace has to be allowed to read; `undefined` if no resource needs the
   * access.
   */
  readonly required: NamedReferences | undefined;
}

/**
 * Checks that a ClusterVaultConnection lets a namespace read the names that its resources refer to.
 * @throws KubeError
 */
async function checkAccess(
  { ok, failed, skipped }: Checks,
  object: KubeObject,
  { api, namespace, required }: AccessCheckOptions,
  signal: AbortSignal,
): Promise<Check> {
  if (required === undefined)
    return skipped("access", `no resource requires access for the namespace ${namespace}`);
  const { name } = object.metadata;
  const found = await api
    .getMetadata(NAMESPACES, { name: namespace }, signal)
    .catch((error: unknown) => {
      if (isKubeError(error, "Forbidden")) return undefined;
      throw error;
    });
  if (found === undefined)
    return skipped("access", `no permission to read the labels of namespace ${namespace}`);
  const namespaces = new Map([[namespace, { labels: found.metadata.labels ?? {} }]]);
  const access = new ClusterAccess({ connections: new Map([[name, object]]), namespaces }).of(
    name,
    namespace,
  );
  const remedy = "add an entry or a name to spec.access, or label the namespace";
  if (typeof access === "string")
    return failed("access", `no entry of spec.access selects the namespace ${namespace}`, remedy);
  const denied = [
    ...[...required.secrets].filter((secret) => !access("secret", secret)),
    ...[...required.files].filter((file) => !access("file", file)),
  ];
  if (denied.length === 0)
    return ok(
      "access",
      `the namespace ${namespace} may read every name that its resources refer to`,
    );
  return failed("access", `the namespace ${namespace} may not read ${someOf(denied)}`, remedy);
}

export interface ConnectionCheckOptions extends AccessCheckOptions {
  /** The names that the resources of the connection refer to. */
  readonly references: NamedReferences;
  /** Namespace of the credentials of a ClusterVaultConnection. */
  readonly operatorNamespace: string;
  readonly policy: HostPolicy;
  /** Audiences of ServiceAccounts' tokens in addition to the address of each vault. */
  readonly tokenAudiences: readonly string[];
  /** Longest list in bytes that the operator reads. */
  readonly maxListBytes: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Checks one connection as the operator would use it, from its spec to the names that resources
 * refer to; a failure ends the checks. Logs in once. Stored tokens are not used, because a refresh
 * would replace them. @throws KubeError
 */
export async function* checkConnection(
  object: KubeObject,
  options: ConnectionCheckOptions,
  signal: AbortSignal,
): AsyncGenerator<Check, void> {
  const checks = checksOf(`${object.kind.toLowerCase()}/${object.metadata.name}`);
  const { api, policy, clock } = options;
  const { namespace = options.operatorNamespace } = object.metadata;
  const parsed = parseConnection(object);
  if (!parsed.ok) return yield checks.failed("spec", parsed.problem, "correct the spec");
  const { spec } = parsed;
  const settings = settingsOf(spec);
  const facts = factsOf(spec);
  const address = checkAddress(checks, facts, policy);
  yield address;
  if (object.kind === clusterVaultConnectionKind.kind)
    yield await checkAccess(checks, object, options, signal);
  const { tokenAudiences: audiences } = options;
  const { fingerprint } = parsed;
  const credentials = credentialSource(spec, { api, namespace, audiences, fingerprint });
  const secret = await checkCredentials(
    checks,
    object,
    { spec, namespace, source: credentials },
    options,
    signal,
  );
  yield secret;
  if (address.result !== "ok" || secret.result !== "ok") return;
  const bundle = spec.caBundleRef && (await readCaBundle(api, namespace, spec.caBundleRef, signal));
  if (bundle !== undefined && "problem" in bundle)
    return yield checks.failed(
      "CA bundle",
      bundle.problem,
      "store the certificates of the vault's authority there",
    );
  if (bundle !== undefined) yield checks.ok("CA bundle", "it has readable certificates");
  if (credentials.kind === "tokens")
    return yield checks.skipped("login", "a refresh would replace the stored tokens");
  const transport = new UndiciTransport({ url: settings.url, policy, clock, ca: bundle?.pem });
  yield* checkVault(
    checks,
    { ...options, settings, facts, trust: trustOf(spec), credentials, transport },
    signal,
  );
}

function checkAddress({ ok, failed }: Checks, facts: ConnectionFacts, policy: HostPolicy): Check {
  const refusal = refusalOf(new URL(facts.url), policy);
  if (refusal === undefined) return ok("spec", facts.url);
  const { cause, remedy } = connectionProblem(new RefusedError("list_no_dup", refusal), facts);
  return failed("spec", `spec.url: ${cause}`, remedy);
}

interface CredentialsCheck {
  readonly spec: ConnectionSpec;
  readonly namespace: string;
  readonly source: CredentialSource;
}

/** Reports whether the user of the command may read the metadata of an object, if it exists. */
async function mayRead(
  api: KubeApi,
  resource: ResourceDescriptor,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await api.getMetadata(resource, ref, signal);
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return false;
    if (!isKubeError(error, "NotFound")) throw error;
  }
  return true;
}

async function checkCredentials(
  checks: Checks,
  object: KubeObject,
  credentials: CredentialsCheck,
  { api, clock }: ConnectionCheckOptions,
  signal: AbortSignal,
): Promise<Check> {
  const { ok, failed, skipped } = checks;
  const { spec, namespace, source } = credentials;
  if (source.kind === "identity") return checkIdentity(checks, spec, source, signal);
  const name = credentialsName(spec) ?? "";
  // The source reports a missing permission as one of the operator.
  if (!(await mayRead(api, SECRETS, { namespace, name }, signal)))
    return skipped("credentials", `no permission to read Secret ${name}`);
  try {
    const { version } =
      source.kind === "password" ? await source.read(signal) : await source.store.read(signal);
    const { loginPausedUntil = "", rejectedCredentials } =
      connectionStatus.safeParse(object["status"]).data ?? {};
    if (rejectedCredentials !== version || Date.parse(loginPausedUntil) <= clock.now())
      return ok("credentials", `Secret ${name} has the required type and key`);
    return failed(
      "credentials",
      `the vault rejected those of Secret ${name}, or too many others of its namespace; the operator does not log in before ${loginPausedUntil}`,
      "store the right password there, which ends the pause, or correct spec.email",
    );
  } catch (error) {
    if (!isVaultError(error)) throw error;
    return failed("credentials", error.text, "correct the Secret, or spec.auth");
  }
}

/** Requests a token of the ServiceAccount, as the user of the command. */
async function checkIdentity(
  { ok, failed, skipped }: Checks,
  spec: ConnectionSpec,
  source: Extract<CredentialSource, { kind: "identity" }>,
  signal: AbortSignal,
): Promise<Check> {
  const name = spec.auth.serviceAccountRef?.name;
  try {
    await source.read(signal);
    return ok("credentials", `ServiceAccount ${name} gets a token for ${audienceOf(spec)}`);
  } catch (error) {
    if (!isVaultError(error)) throw error;
    if (error.text.startsWith("permission denied"))
      return skipped("credentials", `no permission to request a token of ServiceAccount ${name}`);
    return failed("credentials", error.text, "correct spec.auth, or create the ServiceAccount");
  }
}
