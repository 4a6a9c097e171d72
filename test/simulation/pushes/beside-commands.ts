import { vaultPushKind } from "../../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { putResource } from "../../lab/simulated/api-server/put-resource.ts";
import { Rejection } from "../../lab/simulated/vault/rejection.ts";
import { CREATOR } from "../cast.ts";
import type { ValueForm } from "../simulated-values.ts";
import type { World } from "../world.ts";

interface Named {
  readonly type: "push";
  readonly namespace: string;
  readonly name: string;
}

/** A step of a user with a VaultPush whose entries other resources read, or with its Secret. */
export type BesideCommand =
  | (Named & { readonly how: "put"; readonly spec: object })
  | (Named & { readonly how: "delete" | "delete-source" })
  | (Named & { readonly how: "force"; readonly value: string })
  /** Gives a key of a Secret a value that no vault has, or removes it. */
  | (Named & { readonly how: "set"; readonly key: string; readonly form?: ValueForm })
  | (Named & { readonly how: "remove-key"; readonly key: string })
  /** The creator shares a secret with an account. */
  | {
      readonly type: "push";
      readonly how: "share";
      readonly vault: string;
      readonly name: string;
      readonly to: string;
      readonly permission: "R" | "RW";
    };

/** Carries out a command. @throws StatusError when the API server rejects it */
export function performBeside(world: World, command: BesideCommand): void {
  const { server, vaults } = world;
  const { name } = command;
  if (command.how === "share") {
    const { vault, to: usr_id_to, permission } = command;
    const body = { key_name: name, permission, usr_id_from: CREATOR, usr_id_to };
    return attempt(() => void vaults.vault(vault).act(CREATOR, "share", body));
  }
  const ref = { namespace: command.namespace, name };
  switch (command.how) {
    case "put":
      return putResource(server, vaultPushKind, ref, command.spec);
    case "delete":
      return server.delete(vaultPushKind, ref);
    case "delete-source":
      return server.delete(SECRETS, ref);
    case "force": {
      const annotations = { [FORCE_SYNC_ANNOTATION]: command.value };
      return void server.patch(vaultPushKind, ref, { metadata: { annotations } });
    }
    case "set":
      return setKey(world, ref, command.key, vaults.make(command.form ?? "plain", command.key));
    case "remove-key":
      return setKey(world, ref, command.key, null);
  }
}

function setKey(
  { server }: World,
  ref: { readonly namespace: string; readonly name: string },
  key: string,
  base64: string | null,
): void {
  const data = { [key]: base64 };
  if (server.find(SECRETS, ref)) return void server.patch(SECRETS, ref, { data });
  if (base64 === null) return;
  server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata: ref, type: "Opaque", data });
}

function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
  }
}
