import type { ExposedSecret, SecretRecord } from "../../protocol/answers.ts";
import { scopeReaches } from "../../protocol/parse-scope.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireReach } from "../rules/reach.ts";
import { exposedSecret, isExpired, secretRecord } from "../rules/secret-record.ts";
import { ServiceError } from "../service-error.ts";
import type { Secret, SecretVersion, Transaction } from "../store/store.ts";
import { openValue } from "./secret-value.ts";

interface Found {
  readonly secret: Secret;
  readonly latest: SecretVersion;
}

/** @throws ServiceError `secret_not_found`, then `out_of_scope`; the latest version's metadata decides reach */
async function findInScope({ secrets }: Transaction, caller: Caller, name: string, now: number): Promise<Found> {
  const secret = await secrets.find(caller.email, name, now);
  const latest = secret && (await secrets.latest(secret.id));
  if (!secret || !latest) throw new ServiceError("secret_not_found", "there is no secret of this name");
  requireReach(caller.scope, name, latest.metadata);
  return { secret, latest };
}

/**
 * The value of one version, the latest when none is named.
 * @throws ServiceError `secret_not_found`, `version_not_found`, `out_of_scope`, `secret_expired`
 */
export async function expose(context: VaultContext, caller: Caller, name: string, version?: number): Promise<ExposedSecret> {
  const now = context.clock.now();
  const { secret, wanted, envelope } = await context.store.read(async (transaction) => {
    const found = await findInScope(transaction, caller, name, now);
    const chosen = version === undefined ? found.latest : await transaction.secrets.version(found.secret.id, version);
    const sealed = chosen && (await transaction.secrets.value(found.secret.id, chosen.version));
    if (!chosen || !sealed) throw new ServiceError("version_not_found", "the secret has no such version");
    return { secret: found.secret, wanted: chosen, envelope: sealed };
  });
  if (context.expired === "deny" && isExpired(wanted, now)) {
    throw new ServiceError("secret_expired", "the secret's expiration_time is over: protect a new version");
  }
  return exposedSecret(secret, wanted, openValue(context, secret, wanted.version, envelope), now);
}

/** All versions, ascending. @throws ServiceError `secret_not_found`, `out_of_scope` */
export async function listVersions(context: VaultContext, caller: Caller, name: string): Promise<SecretRecord[]> {
  const now = context.clock.now();
  return context.store.read(async (transaction) => {
    const { secret } = await findInScope(transaction, caller, name, now);
    const versions = await transaction.secrets.versions(secret.id);
    return versions.map((version) => secretRecord(secret, version, now));
  });
}

/** The latest version of every secret in scope, by name in code point order. */
export async function listSecrets({ store, clock }: VaultContext, caller: Caller): Promise<SecretRecord[]> {
  const now = clock.now();
  const all = await store.read(({ secrets }) => secrets.list(caller.email, now));
  return all
    .filter(({ secret, latest }) => scopeReaches(caller.scope, secret.name, latest.metadata))
    .map(({ secret, latest }) => secretRecord(secret, latest, now));
}
