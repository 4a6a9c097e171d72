import { afterAll, beforeAll, expect, test } from "vitest";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { chosenRelease } from "../../lab/control-plane/binaries/version.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { fannedOut, vaultPush, vaultSecret } from "../../lab/real/resources.ts";

let plane: ControlPlane;
let namespace: string;
beforeAll(async () => {
  plane = await sharedControlPlane();
  await installCrds(plane);
  namespace = await plane.createNamespace("selectable");
});
afterAll(() =>
  plane.kubectl([
    "delete",
    "--ignore-not-found",
    "clustervaultsecrets,clustervaultfiles",
    namespace,
  ]),
);

/** Returns the names of the resources that kubectl selects by their fields. */
async function selected(kind: string, selector: string): Promise<string[]> {
  const args = ["get", kind, "-n", namespace, "--field-selector", selector, "-o", "name"];
  const names = await plane.kubectlOutput(args);
  return names
    .split("\n")
    .filter((name) => name !== "")
    .map((name) => name.split("/")[1] ?? "");
}

const isServed = chosenRelease().name === "newest";
const refused = "not supported";

/** Returns what a selector selects; before Kubernetes 1.31, that the API server refuses it. */
const outcome = (kind: string, selector: string): Promise<unknown> =>
  isServed
    ? selected(kind, selector)
    : selected(kind, selector).catch((error: unknown) =>
        String(error).includes(refused) ? refused : error,
      );
const expected = (...names: string[]): unknown => (isServed ? names : refused);

test("kubectl selects resources by connection, target and suspension", async () => {
  const db = vaultSecret("db", { password: "db" });
  const web = vaultSecret("web", { password: "web" }, { name: "other" });
  const second = { ...web.spec, connectionRef: { name: "second" }, suspend: true };
  const push = vaultPush("out", [{ secretKey: "a", remoteRef: { key: "a" } }]);
  await plane.apply([db, { ...web, spec: second }, push], namespace);
  const ofConnection = (name: string) => outcome("vaultsecrets", `spec.connectionRef.name=${name}`);
  expect(await ofConnection("vault")).toEqual(expected("db"));
  expect(await ofConnection("third")).toEqual(expected());
  expect(await outcome("vaultsecrets", "spec.target.name=other")).toEqual(expected("web"));
  expect(await outcome("vaultsecrets", "spec.suspend=true")).toEqual(expected("web"));
  expect(await outcome("vaultpushes", "spec.secret.name=out")).toEqual(expected("out"));
});

test("kubectl selects cluster-scoped resources by connection, target and suspension", async () => {
  const target = { name: `${namespace}-target` };
  const suspend = true;
  await plane.apply([
    fannedOut("ClusterVaultSecret", namespace, namespace, { a: "a" }, { target, suspend }),
    fannedOut("ClusterVaultFile", namespace, namespace, { a: "a" }),
  ]);
  for (const kind of ["clustervaultsecrets", "clustervaultfiles"])
    expect(await outcome(kind, `spec.connectionRef.name=${namespace}`)).toEqual(
      expected(namespace),
    );
  const ofTarget = `spec.target.name=${target.name}`;
  expect(await outcome("clustervaultsecrets", ofTarget)).toEqual(expected(namespace));
  const suspended = `spec.suspend=true,${ofTarget}`;
  expect(await outcome("clustervaultsecrets", suspended)).toEqual(expected(namespace));
});
