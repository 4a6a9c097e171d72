import { APPROVE_ANNOTATION } from "../../src/operator/api/names.ts";
import { putResource } from "../lab/simulated/api-server/put-resource.ts";
import { type FanOutKind, fanOutKinds } from "./fanned-out.ts";
import type { World } from "./world.ts";

interface Ref {
  readonly type: "fan-out";
  readonly kind: FanOutKind;
  readonly name: string;
}

/** A step of a user with a resource for several namespaces. */
export type FanOutCommand =
  | (Ref & { readonly how: "put"; readonly spec: object })
  | (Ref & { readonly how: "delete" })
  /** `null` removes an annotation. */
  | (Ref & {
      readonly how: "annotate";
      readonly annotations: Readonly<Record<string, string | null>>;
    })
  /** Approves the versions that the status shows, or other ones. */
  | (Ref & { readonly how: "approve"; readonly right: boolean });

/** Carries out a command. @throws StatusError when the API server rejects it */
export function performFanOut({ server }: World, command: FanOutCommand): void {
  const descriptor = fanOutKinds[command.kind];
  const { name } = command;
  const annotate = (annotations: Readonly<Record<string, string | null>>): void =>
    void server.patch(descriptor, { name }, { metadata: { annotations } });
  switch (command.how) {
    case "put":
      return putResource(server, descriptor, { name }, command.spec);
    case "delete":
      return server.delete(descriptor, { name });
    case "annotate":
      return annotate(command.annotations);
    case "approve": {
      const { status } = server.get(descriptor, { name });
      const { approvalDigest } = (status ?? {}) as { readonly approvalDigest?: string };
      if (approvalDigest === undefined) return;
      annotate({ [APPROVE_ANNOTATION]: command.right ? approvalDigest : "other versions" });
    }
  }
}
