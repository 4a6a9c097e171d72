import { describe, expect, test } from "vitest";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { chainPem, keyPem } from "../../lab/template/keystores.ts";
import { certificate } from "../../lab/certificates.ts";

type Values = Readonly<Record<string, string>>;

const URL = "{{ user }}:{{ password | urlencode }}@db";
const data = { user: "user", password: "db" };
const templated = (template: Values, target: object = {}) => ({
  target: { ...target, template: { data: template } },
});

/** Starts an operator that has synced a target with `URL`. */
async function synced(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().serves({ user: "ann", db: "p@1" });
  scene.follow(data, templated({ url: URL }));
  await scene.settle();
  expect(scene.outcome()).toBe("url=ann:p%401@db, Synced");
  return scene;
}

const message = (scene: SimulatedWorld) => scene.condition("Ready")?.message;

describe("a template", () => {
  test("is rendered again with a new version of a source, with one patch", async () => {
    await using scene = await synced();
    scene.takeRequests();
    scene.vault().serves({ user: "ann", db: "p@2" }, 2);
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:p%402@db, Synced");
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    expect(scene.status().items).toMatchObject([
      { secretKey: "user", version: 2 },
      { secretKey: "password", version: 2 },
    ]);
  });

  test("that changes rewrites the target, although the versions are the same", async () => {
    await using scene = await synced();
    scene.follow(data, templated({ user: "{{ user | upper }}" }));
    await scene.settle();
    expect(scene.outcome()).toBe("user=ANN, Synced");
  });

  test("that is added or removed rewrites the target", async () => {
    await using scene = await synced();
    scene.follow(data);
    await scene.settle();
    expect(scene.outcome()).toBe("password=p@1 user=ann, Synced");
    scene.follow(data, templated({ url: URL }));
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:p%401@db, Synced");
  });

  test("writes nothing and reads nothing while nothing changes, also after a restart", async () => {
    await using scene = await synced();
    scene.takeRequests();
    scene.vault().reads.length = 0;
    await scene.settle(600_000);
    await scene.replace();
    await scene.settle();
    expect(scene.takeRequests()).toEqual([]);
    expect(scene.vault().reads).toEqual([]);
  });

  test("repairs an edited target with the same content", async () => {
    await using scene = await synced();
    scene.edit({ url: "edited", other: "added" });
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:p%401@db, Synced");
  });

  test("that uses a missing variable names it and keeps the target", async () => {
    await using scene = await synced();
    scene.follow(data, templated({ url: `${URL}/{{ database }}` }));
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:p%401@db, TemplateError");
    expect(message(scene)).toBe(
      "spec.target.template.data[url], line 1, column 45: the variable database does not exist; the target is left unchanged",
    );
    expect(scene.condition("Stalled")?.reason).toBe("TemplateError");
    scene.follow({ ...data, database: "user" }, templated({ url: `${URL}/{{ database }}` }));
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:p%401@db/ann, Synced");
  });

  test("of a missing source keeps the target as a whole", async () => {
    await using scene = await synced();
    scene.vault().serves({ db: "p@2" }, 2);
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:p%401@db, SourceMissing");
  });

  test("uses an optional source when it exists", async () => {
    await using scene = await synced();
    const entries = Object.entries({ ...data, port: "port" }).map(([secretKey, key]) => ({
      secretKey,
      remoteRef: { key },
      optional: secretKey === "port",
    }));
    scene.follow(
      {},
      { data: entries, ...templated({ url: '{{ user }}:{{ port | default: "5432" }}' }) },
    );
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:5432, Synced");
    scene.vault().serves({ user: "ann", db: "p", port: "1" }, 2);
    await scene.settle();
    expect(scene.outcome()).toBe("url=ann:1, Synced");
  });

  test("uses the members of extracted objects, whose names no message contains", async () => {
    await using scene = await synced();
    scene.vault().serves({ config: '{"host": "h", "hunter2": "?"}' });
    const dataFrom = [{ extract: { key: "config" } }];
    const loop = "{% for item in vars %}{{ item.value | base64decode }}{% endfor %}";
    scene.follow(
      {},
      {
        data: undefined,
        dataFrom,
        ...templated({
          host: "{{ host }}",
          all: "{% for item in vars %}{{ item.name }} {% endfor %}",
        }),
      },
    );
    await scene.settle();
    expect(scene.outcome()).toBe("all=host hunter2  host=h, Synced");
    scene.follow({}, { data: undefined, dataFrom, ...templated({ loop }) });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("TemplateError");
    expect(JSON.stringify([scene.resource()["status"], scene.events])).not.toContain("hunter2");
  });

  test("of a key that becomes empty is rejected until the version is accepted", async () => {
    await using scene = await synced();
    scene.follow(data, templated({ user: "{{ user }}" }));
    await scene.settle();
    scene.vault().serves({ user: "", db: "p" }, 2);
    await scene.settle();
    expect(scene.outcome()).toBe("user=ann, SourceSuspicious");
    scene.annotate({ "vaultsync.dev/accept": "user@2" });
    await scene.settle();
    expect(scene.outcome()).toBe("user=, Synced");
  });

  test("that lacks a key which the type requires is InvalidSpec", async () => {
    await using scene = await synced();
    scene.follow(
      data,
      templated({ "tls.crt": "{{ user }}" }, { type: "kubernetes.io/tls", name: "tls" }),
    );
    await scene.settle();
    expect(message(scene)).toBe(
      "spec.target.template.data: a Secret of type kubernetes.io/tls requires the keys tls.key",
    );
  });

  test("adds its keys to an object of others", async () => {
    await using scene = await synced();
    const metadata = { namespace: "shop", name: "theirs" };
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      data: { own: "eA==" },
    });
    scene.follow(data, {
      name: "merge",
      ...templated({ url: URL }, { name: "theirs", creationPolicy: "Merge" }),
    });
    await scene.settle();
    expect(Object.keys(scene.target("theirs")?.data ?? {}).sort()).toEqual(["own", "url"]);
  });
});

const pair = (crt: string, key: string) => ({ crt, key });
const certificateIn = (scene: SimulatedWorld) =>
  Buffer.from(scene.target()?.data?.["tls.crt"] ?? "", "base64").toString();

describe("the content of a typed Secret", () => {
  const [one, two] = ["one", "two"].map((name) => certificate(name, { hosts: [name] }));
  const tls = { "tls.crt": "crt", "tls.key": "key" };

  async function syncedTls(): Promise<SimulatedWorld> {
    const scene = await SimulatedWorld.shop();
    scene.vault().serves(pair(one!.cert, one!.keyPem));
    scene.follow(tls, { target: { type: "kubernetes.io/tls" } });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("Synced");
    return scene;
  }

  test("of a certificate without its key is rejected, and followed when the key arrives", async () => {
    await using scene = await syncedTls();
    scene.vault().expose = (name) => ({ value: name === "crt" ? two!.cert : one!.keyPem });
    scene.vault().lists({ name: "crt", version: 2 }, { name: "key" });
    await scene.settle();
    expect(message(scene)).toBe(
      "a Secret of type kubernetes.io/tls: tls.key is not the private key of the first certificate in tls.crt; the target is left unchanged",
    );
    expect(scene.condition("Stalled")?.reason).toBe("InvalidContent");
    expect(certificateIn(scene)).toBe(one!.cert);
    scene.vault().serves(pair(two!.cert, two!.keyPem), 2);
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("Synced");
    expect(certificateIn(scene)).toBe(two!.cert);
  });

  test("that no program can read creates no target and is not quoted", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().serves(pair("hunter2", one!.keyPem));
    scene.follow(tls, { target: { type: "kubernetes.io/tls" } });
    await scene.settle();
    expect(scene.outcome()).toBe("absent, InvalidContent");
    expect(JSON.stringify([scene.resource()["status"], scene.events])).not.toContain("hunter2");
  });

  test("can be made by a template", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().serves({ bundle: keyPem + chainPem });
    const parts = {
      "tls.crt": "{{ bundle | pem_certificates }}",
      "tls.key": "{{ bundle | pem_key }}",
    };
    scene.follow({ bundle: "bundle" }, templated(parts, { type: "kubernetes.io/tls" }));
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("Synced");
    expect(certificateIn(scene)).toBe(chainPem);
  });
});
