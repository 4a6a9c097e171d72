import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";
import { OPERATOR_USER } from "../lab/real/world.ts";
import { type ObservedObject, secretThrough, isReady, reports } from "../lab/real/resources.ts";
import { Lanes, type Lane } from "./support/lanes.ts";
import type { Fault } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * The vault responds in the form of the contract, with a content that contradicts what it said
 * before.
 */
const shared = Lanes.use(() => ({ accounts: 30 }));

const LIST: Operation = "list_no_dup";
const READS: readonly Operation[] = ["expose", "version_expose"];
interface ListedSecret {
  key_name: string;
  key_version: number;
}
interface Listing {
  secrets: ListedSecret[];
}

const firstVersion = (one: ListedSecret): ListedSecret => ({ ...one, key_version: 1 });
const twice = (one: ListedSecret): ListedSecret[] => [firstVersion(one), one, firstVersion(one)];

/** Returns the version that the annotations of a Secret claim for its value. */
function claimedVersion(secret: ObservedObject): unknown {
  return (
    JSON.parse(secret.metadata.annotations["vaultsync.dev/versions"] ?? "{}") as Record<
      string,
      unknown
    >
  )["value"];
}

/**
 * Checks that each content of the Secret was labeled with the version that has this value in the
 * vault.
 */
function expectTrueVersions(lane: Lane): void {
  for (const secret of shared.world.history.versions("Secret", lane.name)) {
    const value = Buffer.from(secret.data["value"] ?? "", "base64").toString();
    expect(claimedVersion(secret), lane.name).toEqual(lane.values.indexOf(value) + 1);
  }
}

async function expectRecovery(lane: Lane, before: readonly string[]): Promise<void> {
  expect(lane.written).toEqual(before);
  const value = await lane.protect();
  await lane.proxy.heal();
  await lane.inSync();
  expect(lane.written).toEqual([...before, value]);
  expectTrueVersions(lane);
}

test.concurrent("V15: an entry that the list omits is missing, and its key is kept", async () => {
  await using lane = await shared.world.lane("v15-omitted");
  const other = { key_name: "other", key_version: 1 };
  lane.proxy.inject(
    faults.on(
      LIST,
      faults.changed((): Listing => ({ secrets: [other] })),
    ),
  );
  await lane.secretReports("SourceMissing");
  await expectRecovery(lane, [lane.values[0]!]);
});

test.concurrent("V15: an empty list after one with entries removes nothing", async () => {
  await using lane = await shared.world.lane("v15-empty");
  lane.proxy.inject(faults.on(LIST, faults.body('{"secrets":[]}')));
  await lane.secretReports("SourceMissing");
  await expectRecovery(lane, [lane.values[0]!]);
});

test.concurrent("V15: a lower version than before is reported and not synced", async () => {
  await using lane = await shared.world.lane("v15-lower");
  const first = lane.values[0]!;
  const second = await lane.protect();
  await lane.inSync();
  lane.proxy.inject(
    faults.on(
      LIST,
      faults.changed(({ secrets }: Listing): Listing => ({ secrets: secrets.map(firstVersion) })),
    ),
  );
  await lane.secretReports("VersionRegressed");
  await expectRecovery(lane, [first, second]);
});

test.concurrent("V15: of an entry that is listed twice the highest version counts", async () => {
  await using lane = await shared.world.lane("v15-twice");
  const first = lane.values[0]!;
  lane.proxy.inject(
    faults.on(
      LIST,
      faults.changed(({ secrets }: Listing): Listing => ({ secrets: secrets.flatMap(twice) })),
    ),
  );
  const second = await lane.protect();
  await lane.inSync();
  await expectRecovery(lane, [first, second]);
});

test.concurrent("V15: a list of 100,000 other entries delays nothing", async () => {
  await using lane = await shared.world.lane("v15-many");
  const first = lane.values[0]!;
  const others = Array.from({ length: 100_000 }, (_, index) => ({
    key_name: `other-${index}`,
    key_version: 1,
  }));
  lane.proxy.inject(
    faults.on(
      LIST,
      faults.changed(({ secrets }: Listing): Listing => ({ secrets: [...others, ...secrets] })),
    ),
  );
  const second = await lane.protect();
  await lane.inSync();
  await expectRecovery(lane, [first, second]);
});

test.concurrent("V15: names in any script are synced", async () => {
  const { world } = shared;
  await using lane = await world.lane("v15-unicode");
  const names = [
    "пароль",
    "密码",
    "à".normalize("NFC"),
    "à".normalize("NFD"),
    "🔑",
    "a,b@2",
    "..",
    "__proto__",
  ];
  for (const [index, key_name] of names.entries()) {
    const response = await lane.client.call("protect", { key_name, key_value: `value ${index}` });
    expect(response.status, key_name).toBe(200);
  }
  const keys = Object.fromEntries(names.map((name, index) => [`key-${index}`, name]));
  await world.create(secretThrough(lane.name, "v15-names", keys));
  await world.history.until("VaultSecret", "v15-names", isReady);
  const { data } = await world.history.until("Secret", "v15-names", () => true);
  const texts = names.map((_, index) =>
    Buffer.from(data[`key-${index}`] ?? "", "base64").toString(),
  );
  expect(texts).toEqual(names.map((_, index) => `value ${index}`));
});

/** Responds to every read with the first version, as a replica that lags behind the list. */
const lagging = (lane: Lane): Fault =>
  faults.on(
    READS,
    faults.changed((json) => {
      const stale = { key_value: lane.values[0], key_version: 1 };
      return "secret" in json
        ? { ...json, secret: { ...json.secret, ...stale } }
        : { ...json, ...stale };
    }),
  );

test.concurrent("V17: a value of a lower version than listed is not written, and the resource is not Ready", async () => {
  const { world } = shared;
  await using lane = await world.lane("v17-lagging");
  const since = await world.plane.auditMark();
  lane.proxy.inject(lagging(lane));
  const second = await lane.protect();
  await lane.until(
    "VaultSecret",
    (one) =>
      !isReady(one) || one.status?.conditions.some(({ type }) => type === "Reconciling") === true,
  );
  await sleep(5_000);
  const writes = {
    user: OPERATOR_USER,
    verb: ["update", "patch"],
    resource: "secrets",
    namespace: world.namespace,
    name: lane.name,
  };
  expect(await world.plane.countRequests(writes, { since })).toBe(0);
  expect(lane.written).toEqual([lane.values[0]]);
  const third = await lane.protect();
  await lane.proxy.heal();
  await lane.inSync();
  expect(lane.written.filter((value) => value !== second)).toEqual([lane.values[0], third]);
  expectTrueVersions(lane);
});

/**
 * Creates a file in the vault and a VaultFile for it, and waits until its ConfigMap has the
 * content.
 */
async function withFile(lane: Lane): Promise<void> {
  const { world } = shared;
  await upload(lane, "first");
  await world.create({
    kind: "VaultFile",
    apiVersion: "vaultsync.dev/v1alpha1",
    metadata: { name: lane.name },
    spec: {
      connectionRef: { name: lane.name },
      files: [{ filename: "f.txt" }],
      target: { kind: "ConfigMap" },
    },
  });
  await world.history.until("ConfigMap", lane.name, ({ data }) => data["f.txt"] === "first");
}

async function upload(lane: Lane, text: string): Promise<void> {
  const response = await lane.client.upload([{ filename: "f.txt", bytes: Buffer.from(text) }]);
  if (response.status !== 200) throw new Error(`upload: ${response.outcome()}`);
}

const shorter = faults.changedBytes((bytes) => bytes.subarray(1));
const other = faults.changedBytes((bytes) => Buffer.alloc(bytes.length, "x"));

test.concurrent.each([
  {
    what: "shorter than listed",
    fault: faults.on("download_file", shorter),
    reason: "VaultUnreachable",
    message: /size/,
  },
  {
    what: "of other bytes than listed",
    fault: faults.on("download_file", other),
    reason: "VaultUnreachable",
    message: /digest/,
  },
  {
    what: "empty",
    fault: faults.on(
      "download_file",
      faults.changedBytes(() => Buffer.alloc(0)),
    ),
    reason: "VaultUnreachable",
    message: /size/,
  },
  {
    what: "deleted between list and download",
    fault: faults.on("download_file", faults.error(404, "file_not_found")),
    reason: "SourceMissing",
    message: /lists it, but does not find it/,
  },
  {
    what: "cut by the connection",
    fault: faults.on("download_file", faults.reset),
    reason: "VaultUnreachable",
    message: /closed the connection/,
  },
  {
    what: "an HTML page",
    fault: faults.on("download_file", faults.page(200)),
    reason: "VaultUnreachable",
    message: /size|digest/,
  },
])("V18: a file that is $what changes nothing", async ({ what, fault, reason, message }) => {
  const { world } = shared;
  await using lane = await world.lane(`v18-${what.toLowerCase().replaceAll(" ", "-")}`);
  await withFile(lane);
  lane.proxy.inject(fault);
  await upload(lane, "second");
  await world.history.until("VaultFile", lane.name, (one) => reports(one, reason, message));
  expect(world.history.versions("ConfigMap", lane.name).map(({ data }) => data["f.txt"])).toEqual([
    "first",
  ]);
  await lane.proxy.heal();
  await upload(lane, "third");
  const synced = await world.history.until(
    "ConfigMap",
    lane.name,
    ({ data }) => data["f.txt"] === "third",
    90_000,
  );
  expect(synced.data).toEqual({ "f.txt": "third" });
});

test.concurrent("V18: a listed size beyond 1 MiB is TooLarge without a download", async () => {
  const { world } = shared;
  await using lane = await world.lane("v18-too-large");
  await withFile(lane);
  const downloads = lane.proxy.to(operationPath.download_file).length;
  const larger = { version: 2, size: 1024 * 1024 + 1, versions: undefined };
  const list = ({ files }: { files: object[] }) => ({
    files: files.map((file) => ({ ...file, ...larger })),
  });
  lane.proxy.inject(faults.on("list_file", faults.changed(list)));
  await world.history.until("VaultFile", lane.name, (one) => reports(one, "TooLarge"));
  expect(lane.proxy.to(operationPath.download_file).length).toBe(downloads);
  expect(world.history.versions("ConfigMap", lane.name).map(({ data }) => data["f.txt"])).toEqual([
    "first",
  ]);
});

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
