import { secretThrough, vaultFile, vaultPush } from "../../lab/real/resources.ts";
import { workload } from "../../lab/real/workloads.ts";
import type { World } from "../../lab/real/world.ts";

/** Arguments of an operator that restarts workloads early. */
export const OPERATOR = ["--no-leader-elect", "--restart-window", "1s"];

/** A VaultSecret through the connection of the repository. */
export const secretOfGit = (name: string, target?: object) =>
  secretThrough("git", name, { password: "db" }, target);

/** Returns a resource with a change of its spec. */
export const withSpec = ({ spec, ...rest }: { readonly spec: object }, change: object) => ({
  ...rest,
  spec: { ...spec, ...change },
});

/** Stores what the resources of a repository need: in the vault, and the Secret of the VaultPush. */
export async function storeSources(world: World): Promise<void> {
  await world.protect("db", world.canaries.text("first"));
  await world.upload("web.conf", Buffer.from(world.canaries.text("file")));
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pushed" },
    stringData: { password: world.canaries.text("pushed") },
  });
}

/** A resource of each kind of a namespace, and a Deployment that the operator restarts. */
export function resourcesOf(world: World): readonly object[] {
  const remoteRef = { key: "pushed" };
  return [
    world.anotherConnection("git"),
    withSpec(secretOfGit("db"), { rolloutRestart: [{ kind: "Deployment", name: "app" }] }),
    vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap" }),
    vaultPush("pushed", [{ secretKey: "password", remoteRef }], { deletionPolicy: "Delete" }),
    workload("Deployment", "app", { secrets: ["db"] }),
  ];
}
