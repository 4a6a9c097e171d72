import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { recordingLogger } from "../../../../test/lab/assertions/recording-logger.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import { vaultConnectionKind } from "../../api/kinds.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { prunedFields, WRITE_AGAIN_MS } from "./pruned-statuses.ts";
import { StatusWriter } from "./status-writer.ts";

const signal = new AbortController().signal;

test.each([
  [{ a: 1 }, { a: 2 }, []],
  [{ a: 1, b: 2 }, { a: 1 }, ["b"]],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }, ["a.c"]],
  [{ a: { b: 1 } }, {}, ["a"]],
  [
    { items: [{ a: 1 }, { a: 1, b: 2 }, { b: 3 }] },
    { items: [{ a: 1 }, { a: 1 }, {}] },
    ["items[].b"],
  ],
  [{ a: 1 }, { a: 1, b: 2 }, []],
  [{ a: undefined }, {}, []],
])("prunedFields(%j, %j) is %j", (sent, stored, expected) => {
  expect([...prunedFields(sent, stored)]).toEqual(expected);
});

/**
 * A VaultConnection whose CRD has no `status.staleSince`, and the statuses that were sent for it.
 */
function scene() {
  const api = new InMemoryKubeApi();
  const sent: object[] = [];
  const metadata = { name: "vault", namespace: "shop", uid: "uid-1" };
  let object = api.put("vaultconnections", {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultConnection",
    metadata,
  });
  const replaceStatus = api.replaceStatus.bind(api);
  api.replaceStatus = async (
    resource,
    ref,
    { staleSince, ...status }: { staleSince?: string },
  ): Promise<KubeObject> => {
    sent.push({ ...status, ...(staleSince !== undefined && { staleSince }) });
    return (object = await replaceStatus(resource, ref, status));
  };
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const writer = new StatusWriter(api, vaultConnectionKind, clock, logger);
  const write = (status: object): Promise<void> =>
    writer.write("shop/vault", object, status, signal);
  return { clock, lines, sent, write };
}

const stale = { users: 1, staleSince: "2026-11-22T00:00:00Z" };

test("a status of which the API server drops a field is written once, and the CRD is logged once", async () => {
  const { lines, sent, write } = scene();
  for (let n = 0; n < 3; n += 1) await write(stale);
  expect(sent).toEqual([stale]);
  const other = { ...stale, users: 2 };
  for (let n = 0; n < 3; n += 1) await write(other);
  expect(sent).toEqual([stale, other]);
  const message =
    "the CRD vaultconnections.vaultsync.dev is older than this operator: the API server drops status.staleSince; apply the CRDs of this release";
  expect(lines.filter(({ level }) => level === "warn")).toMatchObject([{ message }]);
});

test("a status without the field is written, and one with it again after a while", async () => {
  const { clock, sent, write } = scene();
  await write(stale);
  await clock.advance(WRITE_AGAIN_MS);
  await write(stale);
  await write({ users: 2 });
  expect(sent).toEqual([stale, stale, { users: 2 }]);
});
