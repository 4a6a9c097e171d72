import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { vaultSecret } from "../lab/real/resources.ts";
import { isPodReady, podsOf } from "./support/reader.ts";
import { Registry } from "./support/registry.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 120_000, interval: 500 };

test("pods pull their image with a synced login, also after its password was rotated", async () => {
  const namespace = await NodeNamespace.create("pull");
  await using registry = await Registry.start(namespace.cluster);
  const rotate = async (): Promise<void> => {
    registry.password = randomBytes(12).toString("hex");
    await namespace.protect("pull-password", registry.password);
  };
  const apply = (name: string): Promise<void> =>
    namespace.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: name } },
      spec: {
        automountServiceAccountToken: false,
        imagePullSecrets: [{ name: "login" }],
        containers: [
          { name: "app", image: `${registry.host}/shop/app:1`, imagePullPolicy: "Always" },
        ],
      },
    });
  const state = async (name: string): Promise<unknown> => {
    const [pod] = await podsOf(namespace.cluster, namespace.name, `app=${name}`);
    if (pod === undefined || isPodReady(pod)) return "Ready";
    return pod.status.containerStatuses[0]?.state.waiting?.reason;
  };

  await rotate();
  await apply("first");
  await expect.poll(() => state("first"), slow).toMatch(/^(?:ErrImagePull|ImagePullBackOff)$/u);
  const content = `{{ password | dockerconfigjson: "${registry.host}", "${registry.user}" }}`;
  await namespace.apply(
    vaultSecret(
      "login",
      { password: "pull-password" },
      {
        type: "kubernetes.io/dockerconfigjson",
        template: { data: { ".dockerconfigjson": content } },
      },
    ),
  );
  await expect.poll(() => state("first"), slow).toBe("Ready");

  const former = registry.password;
  await rotate();
  expect(registry.password).not.toBe(former);
  const login = async (): Promise<string> => {
    const path = ["get", "secret", "login", "--output=jsonpath={.data.\\.dockerconfigjson}"];
    return Buffer.from(await namespace.kubectl(...path), "base64").toString();
  };
  await expect.poll(login, slow).toContain(registry.password);
  await apply("second");
  await expect.poll(() => state("second"), slow).toBe("Ready");
});
