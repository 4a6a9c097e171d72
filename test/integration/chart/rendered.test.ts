import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { Helm, operatorRelease, type Release, vaultRelease } from "../../lab/helm/helm.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { kubeconform, kubeScore } from "../../lab/tools/manifests/check-manifests.ts";
import { writeSchemas } from "../../lab/tools/manifests/write-schemas.ts";

let plane: ControlPlane;
let helm: Helm;
let schemas: string;
beforeAll(async () => {
  plane = await sharedControlPlane();
  helm = await Helm.create(plane.kubeconfigPath);
  schemas = await mkdtemp(join(tmpdir(), "vaultsync-schemas-"));
  await writeSchemas(plane, schemas);
});
afterAll(async () => {
  await helm[Symbol.asyncDispose]();
  await rm(schemas, { recursive: true });
});

const clean = { isClean: true, output: expect.any(String) };

const dryRun = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-"];

const podOptions = [
  "nameOverride=syncer",
  "serviceAccount.name=syncer",
  "extraArgs={--log-level=debug}",
  "extraVolumes[0].name=ca,extraVolumes[0].configMap.name=ca",
  "extraVolumeMounts[0].name=ca,extraVolumeMounts[0].mountPath=/ca",
  "strategy.rollingUpdate.maxUnavailable=0",
  "hostAliases[0].ip=192.0.2.1,hostAliases[0].hostnames={vault.example.com}",
  "dnsConfig.nameservers={192.0.2.53}",
  "hostUsers=false",
  "probes.startup.failureThreshold=600",
].map((value) => `--set=${value}`);

describe("helm lint, kube-score, kubeconform and the API server find nothing in the chart of", () => {
  test.each<[string, Release, string[]]>([
    ["the operator", operatorRelease, []],
    ["the operator, without a watch of Secrets", operatorRelease, ["--set=targetWatch=false"]],
    [
      "the operator, for some namespaces",
      operatorRelease,
      ["--set=namespaces={default,kube-public}"],
    ],
    ["the operator, with the options of a pod", operatorRelease, podOptions],
    ["the vault", vaultRelease, []],
    ["the vault, on PostgreSQL", vaultRelease, ["--set=postgres.enabled=true"]],
  ])("%s", async (_, release, values) => {
    const { code, stdout, stderr } = await helm.run(["lint", "--strict", release.chart, ...values]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
    const manifests = await helm.template(release, values);
    expect(await kubeScore(manifests)).toEqual(clean);
    expect(await kubeconform(manifests, schemas)).toEqual(clean);
    const input = await helm.template({ ...release, namespace: "default" }, values);
    const applied = await plane.kubectl(dryRun, { input });
    // kubectl 1.30 warns of what another client applied, also in a dry run.
    const warnings = applied.stderr.replaceAll(/^Warning: failed to migrate .*\n/gmu, "");
    expect({ code: applied.code, warnings }).toEqual({ code: 0, warnings: "" });
    expect(applied.stdout).toMatch(/^(?:\S+ serverside-applied \(server dry run\)\n)+$/u);
  });
});

test("a release in another namespace has nothing in the one of the overlays", async () => {
  const monitoring = "--set=monitoring.podMonitor=true,monitoring.prometheusRule=true";
  const operator = await helm.template({ ...operatorRelease, namespace: "platform" }, [monitoring]);
  expect(operator).toContain("namespace: platform");
  expect(operator).not.toContain("vaultsync-system");
  const vault = await helm.template({ ...vaultRelease, namespace: "platform" }, [monitoring]);
  expect(vault).toContain("namespace: platform");
  expect(vault).not.toContain("namespace: vaultsync-vault");
});

async function notes(namespace: string, ...values: string[]): Promise<string> {
  // The objects exist: other tests install them with kubectl.
  const release = [
    "install",
    "vaultsync",
    operatorRelease.chart,
    "--dry-run=server",
    "--take-ownership",
  ];
  const { code, stdout, stderr } = await helm.run([
    ...release,
    `--namespace=${namespace}`,
    ...values,
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.slice(stdout.indexOf("NOTES:"));
}

describe("the notes of the release", () => {
  const image = "--set=image.repository=registry.example.com/vaultsync";

  test("warn of the placeholder of the image and of missing labels, and of nothing else", async () => {
    const namespace = await plane.createNamespace("notes");
    const unset = await notes(namespace);
    expect(unset).toContain("WARNING: no image is set");
    const label = unset.split("\n").find((line) => line.startsWith("  kubectl label ")) ?? "";
    const { code } = await plane.kubectl(label.trim().split(" ").slice(1));
    expect(code).toBe(0);
    expect(await notes(namespace, image)).not.toContain("WARNING");
    // The policy against the deletion uses this label too.
    const confirm = "vaultsync.dev/confirm-delete=true";
    await plane.kubectl(["annotate", "namespace", namespace, confirm]);
    await plane.kubectl(["delete", "namespace", namespace, "--wait=false"]);
  });

  test("name the namespaces, and the next steps", async () => {
    expect(await notes("default", image)).toContain("for all namespaces");
    const some = await notes("default", image, "--set=namespaces={shop,billing}");
    expect(some).toContain("for the namespaces shop, billing");
    expect(some).toContain("kind: VaultConnection");
  });
});
