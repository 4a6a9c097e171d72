import { inject } from "vitest";
import { ControlPlane } from "../../control-plane/control-plane.ts";
import { readHandle } from "../../control-plane/handle.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The directory of the control plane that all tests of a run share. */
    controlPlane: string;
  }
}

/** The control plane that this run's tests share. Work in a namespace of your own (`createNamespace`). */
export async function sharedControlPlane(): Promise<ControlPlane> {
  return new ControlPlane(await readHandle(inject("controlPlane")));
}
