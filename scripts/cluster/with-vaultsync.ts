import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "../../test/lab/clock/wait-until.ts";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import type { NodeCluster } from "../../test/lab/node/node-cluster.ts";
import {
  demoNamespace,
  loginSecret,
  exampleFile,
  fillVault,
  logInAsShop,
} from "../demo/vault-account.ts";
import { image, loadImage } from "./image.ts";
import { type InstalledVault, installOperator, installVault } from "./install.ts";

/**
 * Replaces the address of the vault in a file of examples/demo by one with TLS, and adds the
 * ConfigMap with the authority of its certificate.
 */
export function adaptToTls(
  text: string,
  { url, ca }: { readonly url: string; readonly ca: string },
): string {
  if (!text.includes("kind: VaultConnection")) return text;
  const reference = "  caBundleRef: { kind: ConfigMap, name: vault-ca }\n";
  const bundle = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "vault-ca", namespace: demoNamespace },
    data: { "ca.crt": ca },
  };
  const adapted = text.replace(/^ {2}url: .*\n/mu, `  url: ${url}\n${reference}`);
  return `${adapted}---\n${JSON.stringify(bundle)}\n`;
}

const examples = join(import.meta.dirname, "../../examples/demo");
const syncedFile = "app.conf";

/** Prints what the volume and the environment of its container have from the vault. */
const printed = `
const { env } = process;
const bytes = env.PASSWORD.length;
console.log(require("node:fs").readFileSync("/config/${syncedFile}", "utf8"));
console.log("PASSWORD has " + bytes + " characters");
setInterval(() => {}, 1 << 30);
`;

const demoPod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "shop", namespace: demoNamespace },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "shop",
        image,
        imagePullPolicy: "Never",
        command: ["/usr/local/bin/node", "--eval", printed],
        env: [
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-db", key: "password" } } },
        ],
        volumeMounts: [{ name: "config", mountPath: "/config", readOnly: true }],
      },
    ],
    volumes: [{ name: "config", configMap: { name: "web-files" } }],
  },
};

async function applyExamples(cluster: NodeCluster, vault: InstalledVault): Promise<void> {
  const files = (await readdir(examples)).filter((name) => name.endsWith(".yaml")).toSorted();
  const texts = await Promise.all(files.map((name) => readFile(join(examples, name), "utf8")));
  const input = texts.map((text) => adaptToTls(text, vault)).join("---\n");
  await cluster.kubectlOutput(["apply", "--filename", "-"], { input });
  await cluster.kubectlOutput(["create", "--filename", "-"], {
    input: loginSecret(vault.password),
  });
}

/**
 * Installs operator and vault from their charts, with the image of this checkout, applies
 * examples/demo, and waits until a pod prints the file that its volume has from the vault. Returns
 * what it printed.
 */
export async function startVaultsync(cluster: NodeCluster, progress: Progress): Promise<string> {
  await loadImage(cluster, progress);
  progress.update("Installing the vault");
  const vault = await installVault(cluster);
  // kube-proxy writes its rules after the Service was created.
  const shop = await waitUntil("the vault is reachable from this machine", () =>
    logInAsShop(vault.outsideUrl, vault.password, vault.ca),
  );
  await fillVault(shop);
  progress.update("Installing the operator");
  await installOperator(cluster);
  progress.update("Applying examples/demo");
  await applyExamples(cluster, vault);
  // The pod waits for its Secret and its ConfigMap.
  await cluster.apply([demoPod]);
  const expected = (await exampleFile(syncedFile)).toString();
  return waitUntil("the pod prints the file of the vault", async () => {
    const { stdout } = await cluster.kubectl(["logs", "shop"], { namespace: demoNamespace });
    return stdout.includes(expected) ? stdout : undefined;
  });
}
