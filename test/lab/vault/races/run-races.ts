import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreLocation } from "../store-location.ts";
import { loginRaces, permissionRaces, writeRaces } from "./races.ts";
import { RaceServers } from "./race-servers.ts";

const NAMES = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida", "jon"];

/** Races. Each has succeeded at least once before a run ends, however slow the machine is. */
const RACES = [
  "delete",
  "deletion of a user",
  "expected_version",
  "hand-over",
  "revocation",
  "share",
  "team",
  "team of a creator",
  "versions",
  "writes of a deleted user",
];
/** Interval in which the end of a run is checked, in milliseconds. */
const CHECK_MS = 100;

interface Races {
  /** Number of requests and commands that succeeded, by race. */
  readonly counts: Readonly<Record<string, number>>;
  /** Number of values that were read. Each read has a line in the audit log. */
  readonly reads: number;
  /** Rules that were broken. */
  readonly violations: readonly string[];
}

/**
 * Lets clients of servers on one store race for a time: no value is read without a permission, no
 * version is lost or stored twice, no revoked token is accepted, and each value that is read is in
 * an audit log.
 */
export async function runRaces(
  place: StoreLocation,
  { servers, seconds }: { readonly servers: number; readonly seconds: number },
): Promise<Races> {
  await using owned = new AsyncDisposableStack();
  const directory = owned.use(await mkdtempDisposable(join(tmpdir(), "vaultsync-test-"))).path;
  const stop = new AbortController();
  const audits = Array.from({ length: servers }, (_, index) =>
    join(directory, `audit-${index}.jsonl`),
  );
  const scene = owned.use(await RaceServers.start(place, audits, stop.signal));
  for (const name of NAMES) await scene.add(`${name}@example.com`);
  const end = performance.now() + seconds * 1000;
  const timer = setInterval(() => {
    if (performance.now() >= end && RACES.every((race) => scene.ledger.counts[race] !== undefined))
      stop.abort();
  }, CHECK_MS);
  owned.defer(() => clearInterval(timer));
  const [verifications] = await Promise.all([
    Promise.all(writeRaces.map((race) => race(scene))),
    ...[...permissionRaces, ...loginRaces].map((race) => race(scene)),
  ]);
  for (const verify of verifications) await verify();
  await scene[Symbol.asyncDispose]();
  await scene.compareAudit();
  const { counts, violations, reads } = scene.ledger;
  return { counts, violations, reads: reads.values().reduce((sum, count) => sum + count, 0) };
}
