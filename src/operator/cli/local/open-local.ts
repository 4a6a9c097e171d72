import { readFile } from "node:fs/promises";
import { codeOf } from "../../../lib/errors.ts";
import { isLoopback } from "../../../lib/loopback.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { withoutTrailingSlashes } from "../../../lib/without-trailing-slashes.ts";
import { VaultClient } from "../../../protocol/client/vault-client.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { scopeOf } from "../../connection/connection-settings.ts";
import { type Problem, problemAt } from "../manifests/manifest.ts";
import {
  connectionOf,
  keyOfConnection,
  keyOfReference,
  type Plan,
  type PlannedConnection,
} from "../plan/planned-resource.ts";
import { type LocalFlags, localPlan, type LocalPlan, readLocalManifests } from "./local-plan.ts";
import { formatScope } from "../../../protocol/scope.ts";

/** A plan without problems, and the login that reads its sources. */
export interface OpenedPlan {
  readonly plan: LocalPlan;
  readonly client: VaultClient;
}

interface Refused {
  readonly problems: readonly Problem[];
}

/** Lifetime of the tokens of a workload: short, because a login needs nothing but the file. */
const HOURS = 1;

/** Maximum length of a token in a request. */
const MAX_TOKEN = 8192;

/** Reads a token that the kubelet replaces while the process runs. @throws Error without the token */
async function readToken(path: string): Promise<Redacted<string>> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new Error(`${path}: cannot read the token (${codeOf(error) ?? "failed"})`);
  });
  const token = text.trim();
  if (token === "" || token.length > MAX_TOKEN || /\s/u.test(token))
    throw new Error(`${path}: expected one token of at most ${MAX_TOKEN} characters`);
  return new Redacted(token);
}

/** Returns the connection whose vault and account a workload logs in to: the only one. */
function onlyConnection({ connections, resources }: Plan): PlannedConnection | Refused {
  const known = new Map(connections.map((one) => [keyOfConnection(one), one]));
  const problems: Problem[] = [];
  let first: PlannedConnection | undefined;
  for (const resource of resources) {
    const connection = known.get(keyOfReference(resource));
    const path = ["spec", "connectionRef"];
    const { kind, name } = connectionOf(resource);
    const add = (message: string): void =>
      void problems.push(problemAt(resource.manifest, path, message));
    if (connection === undefined)
      add(
        `the ${kind} ${name} is not in the files: with --identity-token-file it names the vault and the account`,
      );
    else if (first === undefined) first = connection;
    else if (identityOf(first) !== identityOf(connection))
      add(
        `the ${kind} ${name} is of another account or vault than the ${first.kind} ${first.manifest.name}: a workload logs in once`,
      );
  }
  return first === undefined || problems.length > 0 ? { problems } : first;
}

/** Returns a text that is equal for connections that one login can stand in for. */
const identityOf = ({ spec: { url, email, scope } }: PlannedConnection): string =>
  JSON.stringify([withoutTrailingSlashes(url), canonicalEmail(email), scope]);

/** Reports whether others can read what is sent to an address. */
const isReadable = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/gu, ""));
};

/** @throws Error when the token cannot be read, or the vault rejects it */
async function logInAs(
  { spec }: PlannedConnection,
  { identityTokenFile = "", caFile }: LocalFlags,
): Promise<VaultClient> {
  const { email, scope } = spec;
  const url = withoutTrailingSlashes(spec.url);
  const ca = caFile === undefined ? undefined : await readFile(caFile, "utf8");
  const login = {
    email,
    readToken: () => readToken(identityTokenFile),
    ...(scope !== undefined && { scope: formatScope(scopeOf(spec)) }),
    hours: HOURS,
  };
  return VaultClient.withIdentity({ url, ...(ca !== undefined && { ca }) }, login);
}

/**
 * Reads the manifests of files and opens the login that reads their sources: the stored one, or the
 * token of a workload at the vault of their connection.
 * @throws Error when a file cannot be read, there is no resource, or the login fails
 */
export async function openLocal(flags: LocalFlags): Promise<OpenedPlan | Refused> {
  if (flags.identityTokenFile === undefined) {
    const client = await VaultClient.open(flags.account);
    return checked(localPlan(await readLocalManifests(flags), client), client);
  }
  const manifests = await readLocalManifests(flags);
  if (manifests.problems.length > 0) return manifests;
  const connection = onlyConnection(manifests.plan);
  if ("problems" in connection) return connection;
  const { manifest, spec } = connection;
  if (isReadable(spec.url)) {
    const message = "http sends the token readable by others: use https";
    return { problems: [problemAt(manifest, ["spec", "url"], message)] };
  }
  const client = await logInAs(connection, flags);
  return checked(localPlan(manifests, client), client);
}

const checked = (plan: LocalPlan, client: VaultClient): OpenedPlan | Refused =>
  plan.problems.length > 0 ? { problems: plan.problems } : { plan, client };
