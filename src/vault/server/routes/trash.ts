import type { FastifyInstance } from "fastify";
import { operations } from "../../../protocol/operations.ts";
import type { VaultContext } from "../context.ts";
import { deleteFromTrash, emptyTrash } from "../trash/delete-from-trash.ts";
import { listTrash } from "../trash/list-trash.ts";
import { restoreFromTrash } from "../trash/restore.ts";
import { authenticatedOperation } from "./operation.ts";

/** Adds the operations on deleted secrets and files (docs/design/vault-contract.md#trash). */
export function trashRoutes(app: FastifyInstance, context: VaultContext): void {
  authenticatedOperation(app, context, operations.trash_list, async ({ caller }) => ({
    trash_days: context.trashDays,
    trash: await listTrash(context, caller),
  }));

  authenticatedOperation(app, context, operations.trash_restore, async ({ body, caller }) => ({
    restored: await restoreFromTrash(context, caller, body.id, body.name),
  }));

  authenticatedOperation(app, context, operations.trash_delete, async ({ body, caller }) => ({
    deleted: await deleteFromTrash(context, caller, body.id),
  }));

  authenticatedOperation(app, context, operations.trash_empty, async ({ caller }) => ({
    deleted: await emptyTrash(context, caller),
  }));
}
