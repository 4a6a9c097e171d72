import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import { vaultPushKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { StatusError } from "../../lab/simulated/api-server/status-error.ts";
import { putResource } from "../../lab/simulated/api-server/put-resource.ts";
import { Rejection } from "../../lab/simulated/vault/rejection.ts";
import { type Command, perform } from "../commands.ts";
import type { EntryRef } from "./entry-journal.ts";
import type { PushWorld } from "./push-world.ts";

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Changes of a key of a Secret: another value, the one before, or what is not pushed. */
export const keyChanges = ["new", "back", "empty", "binary", "remove"] as const;

/** A step of an episode of VaultPushes. */
export type PushCommand =
  | Exclude<Command, { type: "settle" }>
  | { readonly type: "settle" }
  | ({ readonly type: "put-push"; readonly spec: object } & Named)
  | ({ readonly type: "delete-push" | "delete-source" } & Named)
  | ({ readonly type: "force-push"; readonly value: string } & Named)
  | ({
      readonly type: "set-key";
      readonly key: string;
      readonly change: (typeof keyChanges)[number];
    } & Named)
  /** Another writer writes an entry, deletes it, or deletes it and creates it again. */
  | ({ readonly type: "write-entry" | "delete-entry" | "recreate-entry" } & EntryRef)
  | {
      readonly type: "share-entry";
      readonly vault: string;
      readonly owner: string;
      readonly name: string;
      readonly to: string;
      readonly permission: "R" | "RW";
    }
  | {
      readonly type: "unshare-entry";
      readonly vault: string;
      readonly owner: string;
      readonly name: string;
    };

/** Carries out a command other than `settle`. What a server rejects has no effect. */
export async function performPush(scene: PushWorld, command: PushCommand): Promise<void> {
  try {
    await act(scene, command);
  } catch (error) {
    if (!(error instanceof StatusError) && !(error instanceof Rejection)) throw error;
  }
}

async function act(scene: PushWorld, command: PushCommand): Promise<void> {
  const { world } = scene;
  const { server } = world;
  switch (command.type) {
    case "put-push":
      return putResource(server, vaultPushKind, command, command.spec);
    case "delete-push":
      return server.delete(vaultPushKind, { namespace: command.namespace, name: command.name });
    case "force-push": {
      const { namespace, name, value } = command;
      const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: value } };
      return void server.patch(vaultPushKind, { namespace, name }, { metadata });
    }
    case "set-key":
      return scene.setKey(command, command.key, command.change);
    case "delete-source":
      return server.delete(SECRETS, { namespace: command.namespace, name: command.name });
    case "write-entry":
      return scene.writeEntry(command);
    case "delete-entry":
      return scene.deleteEntry(command);
    case "recreate-entry":
      scene.deleteEntry(command);
      return scene.writeEntry(command);
    case "share-entry":
    case "unshare-entry":
      return share(scene, command);
    default:
      if (command.type === "list-namespaces") scene.listChanged();
      return perform(world, command);
  }
}

function share(
  scene: PushWorld,
  command: Extract<PushCommand, { type: "share-entry" | "unshare-entry" }>,
): void {
  const { vault, owner, name } = command;
  const target = scene.world.vaults.vault(vault);
  const ref = { vault, owner, kind: "secret", name } as const;
  const body = { key_name: name, usr_id_from: owner };
  if (command.type === "unshare-entry") {
    target.act(owner, "unshare", body);
    scene.unshared(ref);
  } else {
    const { to: usr_id_to, permission } = command;
    target.act(owner, "share", { ...body, usr_id_to, permission });
    scene.shared(ref, usr_id_to, permission);
  }
}
