import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/lab/longest-first.ts";

/** Tests wait for processes and for the disk more than they compute. */
const maxWorkers = 3;

/** `expect.poll` waits for sockets and files in real time. */
const expectOptions = { poll: { interval: 5, timeout: 30_000 } };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          expect: { poll: { interval: 5, timeout: 60_000 } },
          include: [
            "{src,scripts}/**/*.test.ts",
            "test/{architecture,operator,vault-server,contract,cli,lab,docs,simulation,fuzz,monitoring}/**/*.test.ts",
          ],
          exclude: [
            "test/vault-server/postgres/**",
            "test/lab/control-plane/*.test.ts",
            "test/lab/tools/go-tool.test.ts",
            "test/monitoring/promtool.test.ts",
          ],
          // On a busy machine a test may take minutes, which is no failure: time is virtual in most
          // of them.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers,
        },
      },
      {
        test: {
          // The vault's tests on the wire once more, with PostgreSQL behind the server.
          name: "postgres",
          expect: expectOptions,
          include: ["test/{vault-server,contract}/**/*.test.ts"],
          globalSetup: ["test/lab/postgres/shared-postgres.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          maxWorkers,
        },
      },
      {
        test: {
          // The web application, built once, in a real browser.
          name: "web",
          expect: expectOptions,
          include: ["test/web/**/*.test.ts"],
          globalSetup: ["test/web/support/build.ts"],
          // Deadlines only, as above.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "integration",
          expect: expectOptions,
          include: [
            "test/integration/**/*.test.ts",
            "test/lab/control-plane/**/*.test.ts",
            "test/lab/tools/go-tool.test.ts",
            "test/monitoring/promtool.test.ts",
          ],
          exclude: ["test/lab/control-plane/{binaries,supervisor}/**"],
          globalSetup: ["test/lab/tools/build-all.ts", "test/lab/kube/shared-control-plane.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          // Each test file has an operator for its own namespace, so that files run in parallel.
          name: "e2e",
          expect: expectOptions,
          include: ["test/e2e/**/*.test.ts"],
          exclude: ["test/e2e/cluster/**"],
          globalSetup: [
            "test/lab/tools/build-all.ts",
            "test/lab/kube/shared-control-plane.ts",
            "test/e2e/support/install.ts",
          ],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // The tests mostly wait.
          maxWorkers: 6,
        },
      },
      {
        test: {
          // The faults of docs/design/faults.md between real processes; the tests of a file run in
          // parallel and mostly wait.
          name: "faults",
          expect: expectOptions,
          include: ["test/faults/**/*.test.ts"],
          globalSetup: [
            "test/lab/tools/build-all.ts",
            "test/lab/kube/shared-control-plane.ts",
            "test/e2e/support/install.ts",
          ],
          // Deadlines only: a test that passes does not wait for them, not even on a loaded
          // machine.
          testTimeout: 600_000,
          hookTimeout: 180_000,
          maxWorkers: 4,
          maxConcurrency: 64,
        },
      },
      {
        test: {
          // Next to another operator that the environment names: on request only.
          name: "migration",
          expect: expectOptions,
          include: ["test/migration/**/*.test.ts"],
          globalSetup: [
            "test/migration/given-program.ts",
            "test/lab/kube/shared-control-plane.ts",
            "test/e2e/support/install.ts",
          ],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // An operator for each permission, without it: on request only.
          name: "rbac",
          expect: expectOptions,
          include: ["test/rbac/**/*.test.ts"],
          globalSetup: ["test/lab/kube/shared-control-plane.ts", "test/e2e/support/install.ts"],
          testTimeout: 240_000,
          hookTimeout: 180_000,
          maxConcurrency: 2,
        },
      },
      {
        test: {
          // The image, in containers next to the control plane: `npm test -- image`, on Linux as
          // root.
          name: "image",
          expect: expectOptions,
          include: ["test/image/**/*.test.ts"],
          globalSetup: ["test/lab/kube/shared-control-plane.ts", "test/image/support/build.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          // Pods that mount targets, on a node of this machine: a part of the next project that
          // takes few builds.
          name: "mounts",
          expect: expectOptions,
          include: ["test/node/{mounts,changes}.test.ts"],
          globalSetup: ["test/node/support/start.ts"],
          testTimeout: 300_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          // Pods on a node of this machine, one file after the other: on request only.
          name: "node",
          expect: expectOptions,
          include: ["test/node/**/*.test.ts"],
          globalSetup: ["test/node/support/start-with-all.ts"],
          testTimeout: 300_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          // Flux and Argo CD's comparison next to a control plane: on request only.
          name: "gitops",
          expect: expectOptions,
          include: ["test/gitops/**/*.test.ts"],
          globalSetup: [
            "test/gitops/support/programs.ts",
            "test/lab/kube/shared-control-plane.ts",
            "test/e2e/support/install.ts",
          ],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          // An operator for the whole cluster, and an API server that is stopped: one after the
          // other.
          name: "cluster",
          expect: expectOptions,
          include: ["test/e2e/cluster/**/*.test.ts"],
          globalSetup: ["test/lab/kube/shared-control-plane.ts", "test/e2e/support/install.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
