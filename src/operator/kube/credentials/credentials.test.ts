import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { loadCredentials, SERVICE_ACCOUNT_DIRECTORY } from "./load-credentials.ts";
import type { Credentials } from "./credentials.ts";

const CANARY = "canary-90ff4e1b6a2c7d35";

async function directory(files: Record<string, string>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "vaultsync-credentials-"));
  onTestFinished(() => rm(path, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return path;
}

async function authorization(credentials: Credentials): Promise<string | undefined> {
  return (await credentials.access()).headers.reveal()["authorization"];
}

function kubeconfig(cluster: string, user: string): string {
  return [
    "apiVersion: v1",
    "kind: Config",
    "current-context: c",
    "contexts: [{name: c, context: {cluster: k, user: u, namespace: team-a}}]",
    `clusters: [{name: k, cluster: ${cluster}}]`,
    `users: [{name: u, user: ${user}}]`,
  ].join("\n");
}

async function fromKubeconfig(text: string): Promise<Credentials> {
  return loadCredentials({ kubeconfig: join(await directory({ config: text }), "config") });
}

const inCluster = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

test("in a cluster the ServiceAccount's token and CA are read again after their rotation", async () => {
  const path = await directory({ token: "first\n", "ca.crt": "CA", namespace: "vaultsync-system" });
  const clock = new VirtualClock();
  const credentials = await loadCredentials({
    env: inCluster,
    serviceAccountDirectory: path,
    clock,
  });
  expect(credentials.server.href).toBe("https://10.0.0.1/");
  expect(credentials.namespace).toBe("vaultsync-system");
  expect(await authorization(credentials)).toBe("Bearer first");
  expect((await credentials.access()).tls.reveal()).toEqual({ ca: "CA" });
  await writeFile(join(path, "token"), "second");
  expect(await authorization(credentials)).toBe("Bearer first");
  await clock.advance(10_000);
  expect(await authorization(credentials)).toBe("Bearer second");
});

test("a rejected token is read again immediately; a late rejection has no effect", async () => {
  const path = await directory({ token: "first", "ca.crt": "CA" });
  const credentials = await loadCredentials({
    env: inCluster,
    serviceAccountDirectory: path,
    clock: new VirtualClock(),
  });
  const first = await credentials.access();
  await writeFile(join(path, "token"), "second");
  await credentials.reject(first);
  const second = await credentials.access();
  expect(second.headers.reveal()).toEqual({ authorization: "Bearer second" });
  await credentials.reject(first);
  expect(await credentials.access()).toBe(second);
});

test("a token that cannot be read is read again on the next request", async () => {
  const path = await directory({ "ca.crt": "CA" });
  const credentials = await loadCredentials({
    env: inCluster,
    serviceAccountDirectory: path,
    clock: new VirtualClock(),
  });
  await expect(credentials.access()).rejects.toThrow("ENOENT");
  await writeFile(join(path, "token"), "there");
  expect(await authorization(credentials)).toBe("Bearer there");
});

test("an IPv6 address of the API server is written in brackets", async () => {
  const env = { ...inCluster, KUBERNETES_SERVICE_HOST: "fd00::1" };
  expect(
    (await loadCredentials({ env, serviceAccountDirectory: "/nonexistent" })).server.host,
  ).toBe("[fd00::1]");
});

test("a kubeconfig provides server, namespace, CA, client certificate and token", async () => {
  const [ca, cert, key] = ["CA", "CERT", "KEY"].map((text) => Buffer.from(text).toString("base64"));
  const credentials = await fromKubeconfig(
    kubeconfig(
      `{server: "https://k.example:6443", certificate-authority-data: ${ca}, tls-server-name: other.example}`,
      `{client-certificate-data: ${cert}, client-key-data: ${key}, token: t0}`,
    ),
  );
  expect(credentials.server.href).toBe("https://k.example:6443/");
  expect(credentials.namespace).toBe("team-a");
  expect(await authorization(credentials)).toBe("Bearer t0");
  expect((await credentials.access()).tls.reveal()).toEqual({
    ca: "CA",
    cert: "CERT",
    key: "KEY",
    servername: "other.example",
  });
});

test("a rewritten kubeconfig is read again after the server rejects the old credentials", async () => {
  const path = join(
    await directory({ config: kubeconfig('{server: "https://k.example"}', "{token: old}") }),
    "config",
  );
  const credentials = await loadCredentials({ kubeconfig: path });
  const old = await credentials.access();
  await writeFile(path, kubeconfig('{server: "https://k.example"}', "{token: new}"));
  await credentials.reject(old);
  expect(await authorization(credentials)).toBe("Bearer new");
});

test("basic authentication and impersonation of a kubeconfig are supported", async () => {
  const credentials = await fromKubeconfig(
    kubeconfig('{server: "https://k.example"}', "{username: u, password: p, as: boss}"),
  );
  expect((await credentials.access()).headers.reveal()).toEqual({
    authorization: "Basic dTpw",
    "impersonate-user": "boss",
  });
});

test.each([
  ["plain HTTP", '{server: "http://k.example"}', "https://"],
  [
    "a certificate that is not checked",
    '{server: "https://k.example", insecure-skip-tls-verify: true}',
    "insecure-skip-tls-verify",
  ],
  ["a proxy", '{server: "https://k.example", proxy-url: "http://p.example"}', "proxy-url"],
])(
  "a kubeconfig with %s is rejected with a message that names the setting",
  async (_, cluster, message) => {
    await expect(fromKubeconfig(kubeconfig(cluster, "{}"))).rejects.toThrow(message);
  },
);

test("the error for a malformed kubeconfig does not quote it", async () => {
  const error: unknown = await fromKubeconfig(`users: [{name: u, user: {token: ${CANARY}`).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ name: "KubeConfigError" });
  expect(inspect(error, { depth: 10 })).not.toContain(CANARY);
});

test.skipIf(existsSync(SERVICE_ACCOUNT_DIRECTORY))(
  "the error without any kubeconfig says how to specify one",
  async () => {
    vi.stubEnv("HOME", await directory({}));
    vi.stubEnv("KUBECONFIG", undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(loadCredentials({ env: {} })).rejects.toThrow(
      "no kubeconfig: set KUBECONFIG or give --kubeconfig FILE",
    );
  },
);

test("the error for a missing kubeconfig names its path", async () => {
  const expected = "cannot read the kubeconfig /nonexistent/config";
  await expect(loadCredentials({ kubeconfig: "/nonexistent/config" })).rejects.toThrow(
    `${expected}: ENOENT`,
  );
  vi.stubEnv("KUBECONFIG", "/nonexistent/config");
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(loadCredentials()).rejects.toThrow(`${expected} (from KUBECONFIG): ENOENT`);
});

test("a token appears in no printed form of the credentials", async () => {
  const credentials = await fromKubeconfig(
    kubeconfig('{server: "https://k.example"}', `{token: ${CANARY}}`),
  );
  const access = await credentials.access();
  expect(
    inspect(access, { depth: 10 }) +
      JSON.stringify(access) +
      JSON.stringify(credentials) +
      inspect(credentials),
  ).not.toContain(CANARY);
});
