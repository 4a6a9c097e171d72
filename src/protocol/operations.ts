/** Path of every operation of the service, relative to its base address. All are POST. Source: the interface, "Endpoints". */
export const operationPath = {
  generate_access_token: "/v1/user/generate_access_token",
  refresh_token: "/v1/user/refresh_token",
  protect: "/v1/user/secret/protect",
  list_no_dup: "/v1/user/secret/list_no_dup",
  expose: "/v1/user/secret/expose",
  expose_link: "/v1/user/secret/expose_link",
  version_list: "/v1/user/secret/version_list",
  version_expose: "/v1/user/secret/version_expose",
  version_expose_link: "/v1/user/secret/version_expose_link",
  protect_file: "/v1/user/protect_file",
  list_file: "/v1/user/list_file",
  download_file: "/v1/user/download_file",
} as const;

export type Operation = keyof typeof operationPath;
