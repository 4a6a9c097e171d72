import { createSecureContext } from "node:tls";
import { compareSync } from "bcryptjs";
import { beforeAll, expect, test } from "vitest";
import { chainPem, keyPem, keystores } from "../lab/template/keystores.ts";
import {
  bytesOf,
  condition,
  type ObservedObject,
  vaultFile,
  vaultSecret,
} from "../lab/real/resources.ts";
import { World } from "../lab/real/world.ts";

/** Targets whose content is made by `spec.target.template`. */
const world = await World.ofFile();
const password = world.canaries.text("password");
world.canaries.known("private key", keyPem.split("\n")[1]!);

beforeAll(async () => {
  await world.startOperator();
  await world.protect("user", "ann");
  await world.protect("password", password);
});

const data = { user: "user", password: "password" };
const templated = (template: Readonly<Record<string, string>>, target: object = {}) => ({
  ...target,
  template: { data: template },
});
const textOf = (object: ObservedObject, key: string) => bytesOf(object, key)?.toString();
const problemOf = async (
  kind: string,
  name: string,
  reason: string,
): Promise<string | undefined> => {
  const resource = await world.untilReason(kind, name, reason);
  return condition(resource, "Ready")?.message;
};

test("a VaultSecret follows its template and its sources, and names a missing variable", async () => {
  const template = {
    url: "{{ user }}:{{ password }}@db",
    login: "{{ password | htpasswd: user }}",
  };
  await world.apply(vaultSecret("app", data, templated(template)));
  await world.ready("VaultSecret", "app");
  const first = await world.until("Secret", "app", () => true);
  expect(Object.keys(first.data).sort()).toEqual(["login", "url"]);
  expect(textOf(first, "url")).toBe(`ann:${password}@db`);
  const [user, hash] = textOf(first, "login")!.split(":");
  expect(user).toBe("ann");
  expect(compareSync(password, hash!)).toBe(true);

  await world.apply(
    vaultSecret("app", data, templated({ ...template, url: "{{ user | upper }}" })),
  );
  const second = await world.until("Secret", "app", (object) => textOf(object, "url") === "ANN");
  expect(textOf(second, "login")).toBe(textOf(first, "login"));

  await world.apply(
    vaultSecret("app", data, templated({ ...template, url: "{{ user }}/{{ database }}" })),
  );
  const message = await problemOf("VaultSecret", "app", "TemplateError");
  expect(message).toContain(
    "spec.target.template.data[url], line 1, column 15: the variable database does not exist",
  );
  expect(textOf((await world.get("Secret", "app"))!, "url")).toBe("ANN");

  await world.protect("user", "bob");
  await world.apply(vaultSecret("app", data, templated({ ...template, url: "{{ user }}" })));
  const third = await world.until("Secret", "app", (object) => textOf(object, "url") === "bob");
  expect(textOf(third, "login")).toMatch(/^bob:/u);
});

test("a change of a source alone is followed", async () => {
  await world.protect("name", "one");
  await world.apply(
    vaultSecret("source", { name: "name" }, templated({ greeting: "hello {{ name }}" })),
  );
  await world.until("Secret", "source", (object) => textOf(object, "greeting") === "hello one");
  await world.protect("name", "two");
  await world.until("Secret", "source", (object) => textOf(object, "greeting") === "hello two");
});

test("typed Secrets are made by templates, and rejected if their type does not allow the content", async () => {
  const config = {
    ".dockerconfigjson": '{{ password | dockerconfigjson: "registry.example.com", user }}',
  };
  await world.apply(
    vaultSecret("registry", data, templated(config, { type: "kubernetes.io/dockerconfigjson" })),
  );
  await world.ready("VaultSecret", "registry");
  const registry = await world.until("Secret", "registry", () => true);
  expect(
    JSON.parse(textOf(registry, ".dockerconfigjson")!).auths["registry.example.com"].password,
  ).toBe(password);

  await world.protect("bundle", keyPem + chainPem);
  const parts = {
    "tls.crt": "{{ bundle | pem_certificates }}",
    "tls.key": "{{ bundle | pem_key }}",
  };
  const tls = { type: "kubernetes.io/tls" };
  await world.apply(vaultSecret("tls", { bundle: "bundle" }, templated(parts, tls)));
  await world.ready("VaultSecret", "tls");
  expect(textOf(await world.until("Secret", "tls", () => true), "tls.crt")).toBe(chainPem);

  await world.apply(
    vaultSecret(
      "broken",
      data,
      templated({ "tls.crt": "{{ user }}", "tls.key": "{{ password }}" }, tls),
    ),
  );
  expect(await problemOf("VaultSecret", "broken", "InvalidContent")).toContain(
    "tls.crt: there is no PEM block CERTIFICATE",
  );
  expect(await world.get("Secret", "broken")).toBeUndefined();
});

test("a VaultFile makes a keystore of PEM files and PEM of a keystore, byte for byte", async () => {
  await world.upload("chain.pem", Buffer.from(chainPem));
  await world.upload("key.pem", Buffer.from(keyPem));
  await world.upload("store.p12", keystores.legacy);
  const files = [
    { filename: "chain.pem", key: "crt" },
    { filename: "key.pem" },
    { filename: "store.p12" },
  ];
  const keystore = templated(
    {
      "tls.p12": '{{ crt | pkcs12: vars["key.pem"], "changeit" }}',
      "tls.jks": '{{ crt | jks: vars["key.pem"], "changeit" }}',
      "key.pem": '{{ vars["store.p12"] | pkcs12_key: "changeit" }}',
      "same.p12": '{{ vars["store.p12"] }}',
    },
    { kind: "Secret" },
  );
  await world.apply(vaultFile("stores", files, keystore));
  await world.ready("VaultFile", "stores");
  const stores = await world.until("Secret", "stores", () => true);
  expect(() =>
    createSecureContext({ pfx: bytesOf(stores, "tls.p12"), passphrase: "changeit" }),
  ).not.toThrow();
  expect(bytesOf(stores, "tls.jks")?.readUInt32BE()).toBe(0xfeedfeed);
  expect(textOf(stores, "key.pem")).toBe(keyPem);
  expect(bytesOf(stores, "same.p12")).toEqual(keystores.legacy);

  await world.apply(
    vaultFile(
      "settings",
      [{ filename: "store.p12" }],
      templated({ a: 'x {{ vars["store.p12"] }}' }, { kind: "ConfigMap" }),
    ),
  );
  expect(await problemOf("VaultFile", "settings", "TemplateError")).toContain(
    "the variable store.p12 is not UTF-8 text",
  );
});

test("no target is written again after a restart, and no value appears outside of the targets", async () => {
  const names = ["app", "registry", "tls", "stores"];
  const versions = () =>
    Promise.all(
      names.map(async (name) => (await world.get("Secret", name))?.metadata.resourceVersion),
    );
  const before = await versions();
  await world.restartOperator();
  await world.protect("name", "three");
  await world.until("Secret", "source", (object) => textOf(object, "greeting") === "hello three");
  expect(await versions()).toEqual(before);
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
