import { hasBridge } from "./docker.ts";

/**
 * Lets testcontainers work with a daemon that has no bridge network, whose gateway it would ask for
 * inside of a container.
 */
export async function prepareTestcontainers(): Promise<void> {
  if (!(await hasBridge())) process.env["TESTCONTAINERS_HOST_OVERRIDE"] ??= "127.0.0.1";
}
