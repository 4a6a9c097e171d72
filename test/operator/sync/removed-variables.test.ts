import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  data,
  readyMessage,
  remove,
  serveNothing,
  synced,
} from "../../lab/kube/removed-sources.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

/** Removed values leave the target, whatever the target is made of: templates. */
const MINUTE = 60_000;
const LOGIN = { user: "bob", password: "p1" };
const URL = "postgres://{{ user }}:{{ password }}@db";
const template = (text = URL, target: object = {}) => ({
  data: data("user", "password"),
  target: { ...target, template: { data: { url: text } } },
});

describe("a template whose variable is removed", () => {
  test("is deleted if it cannot be rendered, says so also later, and is created again", async () => {
    await using scene = await synced(LOGIN, template());
    await remove(scene, LOGIN, "password");
    expect(scene.outcome()).toBe("absent, SourceRemoved");
    const message = readyMessage(scene);
    expect(message).toMatch(
      /^password was removed by the vault at its delete_time \(.*\); no target can be made of the rest: spec\.target\.template\.data\[url\].*the variable password does not exist$/u,
    );
    await scene.settle(40 * MINUTE);
    expect(scene.outcome()).toBe("absent, SourceRemoved");
    expect(readyMessage(scene)).toEqual(message);
    await scene.replace();
    await scene.settle();
    expect(scene.outcome()).toBe("absent, SourceRemoved");
    expect(readyMessage(scene)).toEqual(message);
    scene.vault().serves({ ...LOGIN, password: "p2" }, 2);
    await scene.settle();
    expect(scene.outcome()).toBe("url=postgres://bob:p2@db, Synced");
  });

  test("is rendered without it if that is possible", async () => {
    await using scene = await synced(
      LOGIN,
      template('{{ user }}:{{ password | default: "none" }}'),
    );
    await remove(scene, LOGIN, "password");
    expect(scene.outcome()).toBe("url=bob:none, SourceRemoved");
  });

  test("is rendered without it although it yields nothing then", async () => {
    await using scene = await synced(LOGIN, template("{% if password %}{{ user }}{% endif %}"));
    await remove(scene, LOGIN, "password");
    expect(scene.outcome()).toBe("url=, SourceRemoved");
  });

  test("is deleted although another source is missing, whose value it would need", async () => {
    await using scene = await synced(
      LOGIN,
      template('{{ user }}:{{ password | default: "none" }}'),
    );
    await remove(scene, { password: "p1" }, "password");
    expect(scene.outcome()).toBe("absent, SourceMissing");
    expect(readyMessage(scene)).toContain(
      "the Secret db is not created without it; password was removed by the vault",
    );
  });

  test("is kept with whenRemoved: Retain, which the message names", async () => {
    await using scene = await synced(LOGIN, template(URL, { whenRemoved: "Retain" }));
    await remove(scene, LOGIN, "password");
    await scene.settle(20 * MINUTE);
    expect(scene.outcome()).toBe("url=postgres://bob:p1@db, SourceRemoved");
    expect(readyMessage(scene)).toContain("its value is still in the target (whenRemoved: Retain)");
  });

  test("is kept while removals are held", async () => {
    const names = ["a", "b", "c", "d", "e", "password"];
    const values = { ...LOGIN, ...Object.fromEntries(names.map((name) => [name, name])) };
    await using scene = await synced(values, {
      ...template("{{ password }}"),
      data: data("user", ...names),
    });
    await remove(scene, values, ...names);
    await scene.settle(20 * MINUTE);
    expect(scene.outcome()).toBe("url=password, SourceRemoved");
    expect(readyMessage(scene)).toContain("see the condition RemovalsHeld");
  });

  test("is deleted with whenMissing: Delete only when the absence is proven", async () => {
    await using scene = await synced(LOGIN, template(URL, { whenMissing: "Delete" }));
    scene.vault().serves({ user: "bob" });
    await scene.settle(30_000);
    expect(scene.outcome()).toBe("url=postgres://bob:p1@db, SourceMissing");
    await scene.settle(5 * MINUTE);
    expect(scene.outcome()).toBe("absent, SourceMissing");
  });

  test("is deleted if the variable is optional, and then names the error of the template", async () => {
    const [user, password] = data("user", "password");
    await using scene = await synced(LOGIN, {
      ...template(),
      data: [user, { ...password, optional: true }],
    });
    await remove(scene, LOGIN, "password");
    expect(scene.outcome()).toBe("absent, TemplateError");
    expect(readyMessage(scene)).toContain("the variable password does not exist");
  });

  test("that is immutable or an Orphan is deleted as well", async () => {
    for (const target of [{ immutable: true }, { creationPolicy: "Orphan" }]) {
      await using scene = await synced(LOGIN, template(URL, target));
      await remove(scene, LOGIN, "password");
      expect(scene.outcome()).toBe("absent, SourceRemoved");
    }
  });

  test("loses its keys in an object of others, also with its last source", async () => {
    for (const names of [["password"], ["password", "user"]]) {
      await using scene = await SimulatedWorld.shop();
      const metadata = { namespace: "shop", name: "app" };
      const own = { own: Buffer.from("theirs").toString("base64") };
      scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: own });
      scene.vault().serves(LOGIN);
      scene.follow({}, template(URL, { name: "app", creationPolicy: "Merge" }));
      await scene.settle();
      expect(Object.keys(scene.target("app")?.data ?? {}).sort()).toEqual(["own", "url"]);
      await remove(scene, LOGIN, ...names);
      expect(scene.target("app")?.data).toEqual(own);
      expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
      scene.takeRequests();
      await scene.settle(20 * MINUTE);
      expect(scene.takeRequests().filter((request) => !request.startsWith("get"))).toEqual([]);
    }
  });
});

describe("a vault that lists and serves no values", () => {
  test("keeps a template for five minutes after its variable was removed, and then no more", async () => {
    await using scene = await synced(
      LOGIN,
      template('{{ user }}:{{ password | default: "none" }}'),
    );
    await scene.replace();
    serveNothing(scene);
    await remove(scene, LOGIN, "password");
    expect(scene.outcome()).toBe("url=bob:p1, SourceRemoved");
    await scene.settle(2 * MINUTE);
    expect(scene.outcome()).toBe("url=bob:p1, SourceRemoved");
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toMatch(/^absent, /u);
    scene.vault().serves({ user: "bob" });
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toBe("url=bob:none, SourceRemoved");
  });

  test("never removes what has no deadline", async () => {
    await using scene = await synced(LOGIN, template());
    await scene.replace();
    serveNothing(scene);
    scene
      .vault()
      .lists(
        { name: "user", version: 2 },
        { name: "password", deleteAt: scene.clock.now() + 3_600_000 },
      );
    await scene.settle(30 * MINUTE);
    expect(scene.outcome()).toBe("url=postgres://bob:p1@db, Synced");
  });
});
