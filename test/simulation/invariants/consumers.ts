import type { VaultRequest } from "../../../src/operator/vault-client/http/vault-transport.ts";
import { vaultAt, Violation } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import type { Command } from "../commands.ts";

/** The operations that read values. */
const READS: ReadonlySet<string> = new Set([
  "expose",
  "version_expose",
  "expose_link",
  "version_expose_link",
  "download_file",
]);

/** A request that a process of the operator sends to a vault. */
export interface SentRequest {
  readonly user: string;
  readonly vault: string;
  readonly request: VaultRequest;
  /** The name of the cluster in its flags. */
  readonly clusterName: string;
}

/**
 * The name of a resource is reported to a vault only in a read of a value, by a connection with
 * `reportUse` that the resource refers to (I12).
 */
export function checkConsumer(
  history: KnownSpecs,
  { user, vault, request, clusterName }: SentRequest,
): void {
  const { consumer, operation } = request;
  if (consumer === undefined) return;
  const [cluster, namespace = "", kind = "", name = ""] = consumer.split("/");
  const claim = `${user} reported to ${vault} that ${consumer} reads a value`;
  if (!READS.has(operation)) throw new Violation("I12", `${claim} with ${operation}`);
  if (cluster !== clusterName)
    throw new Violation("I12", `${claim}, from the cluster ${clusterName}`);
  const { email } = request.body as { email?: string };
  const connections = history
    .recent(namespace, `${kind}/${name}`)
    .flatMap((spec) => history.recentConnections(namespace, spec))
    .filter(({ url, email: account }) => vaultAt(url) === vault && account === email);
  if (!connections.some(({ reportUse = false }) => reportUse))
    throw new Violation("I12", `${claim}, without a connection that has reportUse`);
}

/** Shares of the episodes and of their connections that report uses. */
const SHARES = { episodes: 0.5, connections: 0.7, explicit: 0.3 };

/**
 * Returns the commands with connections that report the resources for which values are read. Their
 * random numbers are separate: the field changes nothing else of an episode.
 */
export function withReportedUses(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x05e5);
  if (random() >= SHARES.episodes) return [...commands];
  const reported = (spec: object): object => {
    if (random() < SHARES.connections) return { ...spec, reportUse: true };
    return random() < SHARES.explicit ? { ...spec, reportUse: false } : spec;
  };
  return commands.map((command) => {
    if (command.type === "put-cluster-connection")
      return { ...command, spec: reported(command.spec) };
    return command.type === "put" && command.kind === "VaultConnection"
      ? { ...command, spec: reported(command.spec) }
      : command;
  });
}
