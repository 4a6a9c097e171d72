import type { Store } from "../store/store.ts";
import type { AuditLog } from "./audit-log.ts";

/**
 * Writes the changes that commands of the operator made to users into the audit log, at least once
 * each; without an audit log they are dropped. A command cannot write them itself, because a log
 * has one writer.
 */
export async function logAdminActions(store: Store, audit: AuditLog | undefined): Promise<void> {
  for (const { id, at, action, email } of await store.read(({ adminActions }) =>
    adminActions.list(),
  )) {
    await audit?.append({
      event: "admin",
      id,
      action,
      user: email,
      at: new Date(at).toISOString(),
    });
    await store.write(({ adminActions }) => adminActions.remove(id));
  }
}
