import { afterEach, expect, test, vi } from "vitest";
import { missingPackages, whyNoNode } from "./requirements.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test("a machine without the programs of a node lacks these packages", async () => {
  vi.stubEnv("PATH", "/nonexistent");
  expect(await missingPackages()).toEqual(
    expect.arrayContaining(["util-linux", "iproute2", "nftables", "runc", "tar"]),
  );
});

test("a node that enforces NetworkPolicies needs two more packages", async () => {
  vi.stubEnv("PATH", "/nonexistent");
  const missing = await missingPackages();
  const more = await missingPackages({ networkPolicies: true });
  expect(more.filter((name) => !missing.includes(name))).toEqual(["iptables", "ipset"]);
});

test.runIf(process.platform === "linux")("a user without root cannot run a node", async () => {
  vi.spyOn(process, "getuid").mockReturnValue(1000);
  expect(await whyNoNode()).toMatch(/^a node needs root: .+$/u);
});

test.runIf(process.platform === "linux")(
  "a machine without packages is reported with the command that installs them",
  async () => {
    vi.spyOn(process, "getuid").mockReturnValue(0);
    vi.stubEnv("PATH", "/nonexistent");
    expect(await whyNoNode()).toMatch(
      /^a node needs packages of Debian: apt-get install --no-install-recommends util-linux .+$/u,
    );
  },
);
