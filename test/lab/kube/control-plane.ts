import { inject } from "vitest";
import { ControlPlane } from "../control-plane/control-plane.ts";
import { readHandle } from "../control-plane/handle.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The directory of the control plane that all tests of a run share. */
    controlPlane: string;
  }
}

/**
 * Returns the control plane that all tests of this run share. Each test works in its own namespace
 * (`createNamespace`).
 */
export async function sharedControlPlane(): Promise<ControlPlane> {
  return new ControlPlane(await readHandle(inject("controlPlane")));
}
