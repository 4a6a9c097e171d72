import { expect, test } from "vitest";
import { failureStatus, json } from "../../../../test/lab/loopback-server.ts";
import { ReflectorScene } from "../../../../test/lab/kube/reflector-scene.ts";

function object(name: string, resourceVersion: string): object {
  return { metadata: { namespace: "a", name, uid: `uid-${name}`, resourceVersion } };
}

test("when the API server no longer serves the resource, all objects are reported as deleted", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  scene.failWatch = (response) =>
    void response.writeHead(404, { "audit-id": "1" }).end("404 page not found\n");
  watch.response.end();
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes[1]).toBe("deleted a/one");
});

test("when the namespace does not exist any more, all objects are reported as deleted", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  scene.failWatch = (response) => json(response, 404, failureStatus(404, "NotFound"));
  watch.response.end();
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes[1]).toBe("deleted a/one");
});

test("a watch that is denied leaves the store unchanged, and resumes", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  let denied = 0;
  scene.failWatch = (response) => {
    denied += 1;
    json(response, 403, failureStatus(403, "Forbidden"));
  };
  watch.response.end();
  await scene.until(() => denied > 2);
  scene.failWatch = undefined;
  const next = await scene.nextWatch();
  expect(next.from).toBe("100");
  expect(scene.changes).toEqual(["added a/one"]);
  expect(scene.lists.length).toBe(1);
});

test("a 404 of a proxy leaves the store unchanged", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  let failed = 0;
  scene.failWatch = (response) => {
    failed += 1;
    response.writeHead(404).end("404 page not found\n");
  };
  scene.items = null;
  watch.response.end();
  await scene.until(() => failed > 0 && scene.lists.length > 2);
  expect(scene.changes).toEqual(["added a/one"]);
});
