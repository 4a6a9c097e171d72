import type { ServedOperation } from "../../protocol/operation-paths.ts";

/** How far a request has got: its body fits, or its caller is known, too. */
export type IntentMoment = "parsed" | "authenticated";

/** When an operation says that it is about to change something: before its effect, and not before it must. */
export const intentOf: Record<ServedOperation, IntentMoment | "never"> = {
  generate_access_token: "parsed",
  refresh_token: "parsed",
  app_session: "never",
  app_log_in: "parsed",
  app_log_out: "parsed",
  app_request_password: "parsed",
  app_set_password: "parsed",
  app_api_token: "parsed",
  protect: "authenticated",
  list_no_dup: "never",
  expose: "never",
  version_list: "never",
  version_expose: "never",
  version_delete: "authenticated",
  update_key_metadata: "authenticated",
  delete: "authenticated",
  share: "authenticated",
  unshare: "authenticated",
  share_list: "never",
  delete_shared_key_link: "authenticated",
  expose_link: "never",
  protect_link: "authenticated",
  version_list_for_link: "never",
  version_expose_link: "never",
  team_create: "authenticated",
  team_add_members: "authenticated",
  team_remove_members: "authenticated",
  team_list: "never",
  team_delete: "authenticated",
  protect_file: "authenticated",
  list_file: "never",
  download_file: "never",
  delete_file: "authenticated",
  delete_all_files: "authenticated",
};
