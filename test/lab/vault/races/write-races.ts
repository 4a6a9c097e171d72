import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Operation } from "../../../../src/protocol/operation-paths.ts";
import type { VaultClient, VaultResponse } from "../vault-client.ts";
import type { RaceServers } from "./race-servers.ts";

type Acknowledged = Map<number, string>;

/** Versions whose values are compared at the end. */
const COMPARED = 20;

function acknowledge(
  scene: RaceServers,
  race: string,
  acknowledged: Acknowledged,
  version: number,
  value: string,
): void {
  scene.ledger.count(race);
  if (acknowledged.has(version))
    scene.ledger.violated(`${race}: version ${version} was acknowledged twice`);
  acknowledged.set(version, value);
}

/**
 * Time after a request that was rejected, for example by the rate of its login, in milliseconds.
 */
const REJECTED_MS = 50;

/** Repeats a request until it succeeds. */
async function served(
  client: VaultClient,
  operation: Operation,
  body: object,
): Promise<VaultResponse> {
  for (;;) {
    const response = await client.call(operation, body);
    if (response.status === 200) return response;
    await sleep(REJECTED_MS);
  }
}

/** Requires that the acknowledged versions are stored, without a gap. */
async function verify(
  scene: RaceServers,
  race: string,
  client: VaultClient,
  key_name: string,
  acknowledged: Acknowledged,
): Promise<void> {
  const listed: { key_version: number }[] = (
    await served(client, "version_list", { key_name })
  ).json().versions;
  if (listed.some(({ key_version }, index) => key_version !== index + 1))
    scene.ledger.violated(`${race}: versions have a gap`);
  if ([...acknowledged.keys()].some((version) => version > listed.length))
    scene.ledger.violated(`${race}: a version was lost`);
  for (const [key_version, value] of [...acknowledged].slice(-COMPARED)) {
    const exposed = await served(client, "version_expose", { key_name, key_version });
    if (exposed.json().key_value !== value)
      scene.ledger.violated(`${race}: version ${key_version} differs`);
  }
}

/** Returns the result of a race, and what is verified after it. */
type Race = (scene: RaceServers) => Promise<() => Promise<void>>;

const versionRace: Race = async (scene) => {
  const clients = [
    ...(await scene.clients("hal@example.com")),
    ...(await scene.clients("hal@example.com")),
  ];
  const acknowledged: Acknowledged = new Map();
  await Promise.all(
    clients.map((client) =>
      scene.repeat(async () => {
        const value = randomUUID();
        const response = await client.call("protect", { key_name: "counted", key_value: value });
        if (response.status !== 200) return sleep(REJECTED_MS);
        return acknowledge(
          scene,
          "versions",
          acknowledged,
          response.json().secret.key_version,
          value,
        );
      }),
    ),
  );
  return () => verify(scene, "versions", clients[0]!, "counted", acknowledged);
};

const expectedVersionRace: Race = async (scene) => {
  const clients = [
    ...(await scene.clients("ida@example.com")),
    ...(await scene.clients("ida@example.com")),
  ];
  const acknowledged: Acknowledged = new Map();
  await Promise.all(
    clients.map((client) =>
      scene.repeat(async () => {
        const expected_version = Math.max(0, ...acknowledged.keys());
        const value = randomUUID();
        const response = await client.call("protect", {
          key_name: "expected",
          key_value: value,
          expected_version,
        });
        if (response.status !== 200) return sleep(response.status === 409 ? 0 : REJECTED_MS);
        const version: number = response.json().secret.key_version;
        if (version !== expected_version + 1)
          scene.ledger.violated(`expected_version: ${version} follows ${expected_version}`);
        return acknowledge(scene, "expected_version", acknowledged, version, value);
      }),
    ),
  );
  return () => verify(scene, "expected_version", clients[0]!, "expected", acknowledged);
};

export const writeRaces = [versionRace, expectedVersionRace];
