// Generated from src/protocol/operations/ and session-operations.ts by npm run generate. Do not edit.

/**
 * Path of every operation, relative to the vault's base address. All are POST. Kept apart from the
 * definitions: the operator and the web application load neither schemas nor texts.
 */
export const operationPath = {
  generate_access_token: "/v1/user/generate_access_token",
  exchange_identity_token: "/v1/user/exchange_identity_token",
  refresh_token: "/v1/user/refresh_token",
  token_list: "/v1/user/token/list",
  token_revoke: "/v1/user/token/revoke",
  protect: "/v1/user/secret/protect",
  list_no_dup: "/v1/user/secret/list_no_dup",
  expose: "/v1/user/secret/expose",
  version_list: "/v1/user/secret/version_list",
  consumer_list: "/v1/user/consumer_list",
  version_expose: "/v1/user/secret/version_expose",
  version_delete: "/v1/user/secret/version_delete",
  update_key_metadata: "/v1/user/secret/update_key_metadata",
  rename: "/v1/user/secret/rename",
  delete: "/v1/user/secret/delete",
  expose_link: "/v1/user/secret/expose_link",
  protect_link: "/v1/user/secret/protect_link",
  version_list_for_link: "/v1/user/secret/version_list_for_link",
  version_expose_link: "/v1/user/secret/version_expose_link",
  share: "/v1/user/secret/share",
  unshare: "/v1/user/secret/unshare",
  share_list: "/v1/user/secret/share_list",
  delete_shared_key_link: "/v1/user/secret/delete_shared_key_link",
  block_sender: "/v1/user/block_sender",
  unblock_sender: "/v1/user/unblock_sender",
  blocked_senders: "/v1/user/blocked_senders",
  team_create: "/v1/user/team/create",
  team_add_members: "/v1/user/team/add_members",
  team_remove_members: "/v1/user/team/remove_members",
  team_list: "/v1/user/team/list",
  team_leave: "/v1/user/team/leave",
  team_delete: "/v1/user/team/delete",
  protect_file: "/v1/user/protect_file",
  list_file: "/v1/user/list_file",
  download_file: "/v1/user/download_file",
  delete_file: "/v1/user/delete_file",
  delete_all_files: "/v1/user/delete_all_files",
  trash_list: "/v1/user/trash/list",
  trash_restore: "/v1/user/trash/restore",
  trash_delete: "/v1/user/trash/delete",
  trash_empty: "/v1/user/trash/empty",
} as const;

export type Operation = keyof typeof operationPath;

/** Path of every operation that only the web application has. All are POST. */
export const sessionOperationPath = {
  app_session: "/app/session",
  app_log_in: "/app/log_in",
  app_log_out: "/app/log_out",
  app_request_password: "/app/request_password",
  app_confirmation: "/app/confirmation",
  app_set_password: "/app/set_password",
  app_change_password: "/app/change_password",
  app_api_token: "/app/api_token",
} as const;

export type SessionOperation = keyof typeof sessionOperationPath;
