import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { restoredRecord, trashEntry } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerRequest, oneOrMore } from "../schemas/request-fields.ts";
import { nameSchema } from "../names.ts";

/** Entries that one request restores or deletes. */
const MAX_IDS = 200;

const ids = oneOrMore(z.string().min(1).max(64), MAX_IDS).meta({
  description: "Ids of entries, as `trash_list` and the deletion return them.",
});

const [kind, deleted_at, ends_at] = [
  "secret",
  "2026-11-20T10:00:00.000Z",
  "2026-12-20T10:00:00.000Z",
] as const;

export const trashList = defineOperation({
  name: "trash_list",
  path: "/v1/user/trash/list",
  tag: "Trash",
  summary: "List deleted secrets and files",
  description:
    "Returns the caller's deleted secrets and files that can still be restored, the newest first; received secrets are in the trash " +
    "of their creator. `trash_days` is 0 on a server that keeps none. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({ trash_days: z.int().min(0), trash: z.array(trashEntry) }),
  compressible: true,
  errors: ["out_of_scope"],
  audit: { intent: "never", fields: [] },
  example: {
    request: { email: sample.email },
    response: {
      trash_days: 30,
      trash: [{ ...sample.trashed, kind, version: 2, deleted_at, ends_at }],
    },
  },
});

export const trashRestore = defineOperation({
  name: "trash_restore",
  path: "/v1/user/trash/restore",
  tag: "Trash",
  summary: "Restore deleted secrets and files",
  description:
    "Restores all of the entries or none, with their versions, metadata and shares. " +
    "`name` restores one entry under another name. " +
    "Requires a token of unlimited scope.",
  authentication: "access-token",
  request: ({ nameCharacters }) =>
    callerRequest()
      .extend({ id: ids, name: nameSchema(nameCharacters).optional() })
      .refine(({ id, name }) => name === undefined || id.length === 1, {
        path: ["name"],
        message: "is for one id only",
      }),
  response: z.object({ restored: z.array(restoredRecord) }),
  errors: ["trash_entry_not_found", "name_taken", "out_of_scope", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["id", "name"] },
  example: {
    request: { email: sample.email, id: [sample.trashed.id] },
    response: { restored: [{ ...sample.trashed, kind, version: 2, shared: false }] },
  },
});

export const trashDelete = defineOperation({
  name: "trash_delete",
  path: "/v1/user/trash/delete",
  tag: "Trash",
  summary: "Delete from the trash permanently",
  description:
    "Deletes all of the entries or none. It cannot be undone. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: () => callerRequest().extend({ id: ids }),
  response: z.object({ deleted: z.array(trashEntry.pick({ id: true, kind: true, name: true })) }),
  freesSpace: true,
  errors: ["trash_entry_not_found", "out_of_scope"],
  audit: { intent: "authenticated", fields: ["id"] },
  example: {
    request: { email: sample.email, id: [sample.trashed.id] },
    response: { deleted: [{ ...sample.trashed, kind }] },
  },
});

export const trashEmpty = defineOperation({
  name: "trash_empty",
  path: "/v1/user/trash/empty",
  tag: "Trash",
  summary: "Empty the trash",
  description:
    "Deletes everything in the caller's trash permanently. It cannot be undone. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({ deleted: z.int().min(0).meta({ description: "Number of entries." }) }),
  freesSpace: true,
  errors: ["out_of_scope"],
  audit: { intent: "authenticated", fields: [] },
  example: { request: { email: sample.email }, response: { deleted: 1 } },
});
