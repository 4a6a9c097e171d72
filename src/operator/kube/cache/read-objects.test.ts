import { expect, test } from "vitest";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import { SECRETS, type KubeObject } from "../resource.ts";
import { ReadObjects } from "./read-objects.ts";

const forever = new AbortController().signal;
const ref = { namespace: "a", name: "s" };

const secret = (uid: string, labels: Record<string, string> = { ours: "yes" }): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...ref, uid, labels },
  data: { key: "dmFsdWU=" },
});

const includes = ({ metadata }: KubeObject): boolean => metadata.labels?.["ours"] === "yes";

test("the store shows each object as of its last read, and every change is reported once", async () => {
  const api = new InMemoryKubeApi();
  const objects = new ReadObjects({
    api,
    resource: SECRETS,
    includes,
    project: (object) => JSON.stringify(object),
  });
  const changes: string[] = [];
  const read = async (): Promise<string[]> => {
    await objects.read(ref, forever);
    return changes.splice(0);
  };
  using _ = objects.onChange(({ type }) => void changes.push(type));

  expect(await read()).toEqual([]);
  api.put("secrets", secret("u1"));
  expect(await read()).toEqual(["added"]);
  expect(await read()).toEqual([]);
  expect(objects.store.get("a/s")).not.toContain("dmFsdWU=");
  api.put("secrets", secret("u1"));
  expect(await read()).toEqual(["updated"]);
  api.put("secrets", secret("u2"));
  expect(await read()).toEqual(["deleted", "added"]);
  api.put("secrets", secret("u2", {}));
  expect(await read()).toEqual(["deleted"]);
  expect(objects.store.size).toBe(0);
  api.put("secrets", secret("u2"));
  expect(await read()).toEqual(["added"]);
  objects.forget(ref);
  expect(changes).toEqual([]);
  expect(objects.store.size).toBe(0);
});
