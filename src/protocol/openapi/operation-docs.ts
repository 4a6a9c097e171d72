import type { ErrorCode } from "../error-codes.ts";
import type { Operation } from "../operation-paths.ts";

export type OperationTag = "Tokens" | "Secrets" | "Shared secrets" | "Teams" | "Files";

/** What a reader is told of an operation beside its fields. */
export interface OperationDoc {
  readonly tag: OperationTag;
  readonly summary: string;
  readonly description: string;
  /** Beside those that every operation has. */
  readonly errors: readonly ErrorCode[];
}

const link = "A received secret, or one's own shared one; owner tells several of one name apart.";

const tokens: Readonly<Record<"generate_access_token" | "refresh_token", OperationDoc>> = {
  generate_access_token: {
    tag: "Tokens",
    summary: "Log in and get an access token",
    description: "A pair of tokens whose reach is the scope's. After five failed log-ins an account's log-ins are slowed.",
    errors: ["invalid_credentials", "invalid_scope", "rate_limited"],
  },
  refresh_token: {
    tag: "Tokens",
    summary: "Get the next access token",
    description:
      "A new access token of the same scope and lifetime for the refresh token and the access token it belongs to, which may have " +
      "expired. The refresh token is kept; it lapses after 90 days without use.",
    errors: ["invalid_refresh_token", "rate_limited"],
  },
};

type SecretOperation =
  | "protect"
  | "list_no_dup"
  | "expose"
  | "version_list"
  | "version_expose"
  | "version_delete"
  | "update_key_metadata"
  | "delete";

const secrets: Readonly<Record<SecretOperation, OperationDoc>> = {
  protect: {
    tag: "Secrets",
    summary: "Create a secret, or its next version",
    description:
      "An existing name gets a new version, even when the value is equal. Metadata that is given is changed, the rest kept from the " +
      "version before; standard names may stand at the top level too. Without delete_time the deadline stays.",
    errors: ["use_link_operation", "out_of_scope"],
  },
  list_no_dup: {
    tag: "Secrets",
    summary: "List own and received secrets",
    description:
      "The latest version of each secret that the token reaches and its owner may read, by name, then owner; no values.",
    errors: [],
  },
  expose: {
    tag: "Secrets",
    summary: "Read a secret's current value",
    description: "One's own secret that is not shared.",
    errors: ["secret_not_found", "use_link_operation", "out_of_scope", "secret_expired"],
  },
  version_list: {
    tag: "Secrets",
    summary: "List a secret's versions",
    description: "All versions of one's own secret, ascending; no values.",
    errors: ["secret_not_found", "use_link_operation", "out_of_scope"],
  },
  version_expose: {
    tag: "Secrets",
    summary: "Read the value of one version",
    description:
      "One version of one's own secret that is not shared. The latest version's metadata decides whether a token reaches it.",
    errors: ["secret_not_found", "version_not_found", "use_link_operation", "out_of_scope", "secret_expired"],
  },
  version_delete: {
    tag: "Secrets",
    summary: "Delete one version",
    description:
      "For good: its number is never used again. The only version stays: delete the secret instead. The creator's alone.",
    errors: ["secret_not_found", "version_not_found", "last_version", "out_of_scope", "forbidden"],
  },
  update_key_metadata: {
    tag: "Secrets",
    summary: "Change metadata of a version",
    description: "Only the names given are changed; needs write access. Works for shared and unshared secrets.",
    errors: ["secret_not_found", "version_not_found", "ambiguous_name", "out_of_scope", "forbidden"],
  },
  delete: {
    tag: "Secrets",
    summary: "Delete secrets with all versions",
    description: "For everybody they are shared with too; all of the names or none. The creator's alone.",
    errors: ["secret_not_found", "out_of_scope", "forbidden"],
  },
};

type SharingOperation =
  | "expose_link"
  | "protect_link"
  | "version_list_for_link"
  | "version_expose_link"
  | "share"
  | "unshare"
  | "share_list"
  | "delete_shared_key_link";

const sharedSecrets: Readonly<Record<SharingOperation, OperationDoc>> = {
  expose_link: {
    tag: "Shared secrets",
    summary: "Read a shared secret's current value",
    description: `Needs R. ${link}`,
    errors: ["secret_not_found", "use_unshared_operation", "ambiguous_name", "out_of_scope", "forbidden", "secret_expired"],
  },
  protect_link: {
    tag: "Shared secrets",
    summary: "Create a shared secret's next version",
    description: `Needs W. Metadata and deadline stay. ${link}`,
    errors: ["secret_not_found", "use_unshared_operation", "ambiguous_name", "out_of_scope", "forbidden"],
  },
  version_list_for_link: {
    tag: "Shared secrets",
    summary: "List a shared secret's versions",
    description: `Needs R; no values. ${link}`,
    errors: ["secret_not_found", "use_unshared_operation", "ambiguous_name", "out_of_scope", "forbidden"],
  },
  version_expose_link: {
    tag: "Shared secrets",
    summary: "Read the value of a shared secret's version",
    description: `Needs R. ${link}`,
    errors: [
      "secret_not_found",
      "version_not_found",
      "use_unshared_operation",
      "ambiguous_name",
      "out_of_scope",
      "forbidden",
      "secret_expired",
    ],
  },
  share: {
    tag: "Shared secrets",
    summary: "Share secrets with people or a team",
    description:
      "R reads and lists, W changes value and metadata, RW both. All or nothing over names and recipients, who may not be the caller; " +
      "sharing again replaces the permission. Send usr_id_to or group_id_to. The creator's alone.",
    errors: ["secret_not_found", "team_not_found", "out_of_scope", "forbidden"],
  },
  unshare: {
    tag: "Shared secrets",
    summary: "Take secrets back",
    description: "From those named, or from everybody; nothing to take back is an empty list. The creator's alone.",
    errors: ["secret_not_found", "out_of_scope", "forbidden"],
  },
  share_list: {
    tag: "Shared secrets",
    summary: "List to whom a secret is shared",
    description: "People, then teams, each by code point; of a secret that is not shared, an empty list. The creator's alone.",
    errors: ["secret_not_found", "out_of_scope", "forbidden"],
  },
  delete_shared_key_link: {
    tag: "Shared secrets",
    summary: "Put a received secret away",
    description: "It leaves the caller's list only, until it is shared with them again.",
    errors: ["secret_not_found", "ambiguous_name", "out_of_scope"],
  },
};

type TeamOperation = "team_create" | "team_add_members" | "team_remove_members" | "team_list" | "team_delete";

const teams: Readonly<Record<TeamOperation, OperationDoc>> = {
  team_create: {
    tag: "Teams",
    summary: "Create a team",
    description: "Names are unique on a server. The caller becomes its creator, who alone changes it, and a member.",
    errors: ["team_exists"],
  },
  team_add_members: {
    tag: "Teams",
    summary: "Add members to a team",
    description: "Addresses, with or without an account. Who joins sees what is shared with the team.",
    errors: ["team_not_found", "forbidden"],
  },
  team_remove_members: {
    tag: "Teams",
    summary: "Remove members from a team",
    description: "Who leaves no longer sees what is shared with the team. The creator cannot be removed.",
    errors: ["team_not_found", "forbidden"],
  },
  team_list: { tag: "Teams", summary: "List one's teams", description: "Those the caller is a member of, by name.", errors: [] },
  team_delete: {
    tag: "Teams",
    summary: "Delete a team",
    description: "What was shared with it no longer is.",
    errors: ["team_not_found", "forbidden"],
  },
};

type FileOperation = "protect_file" | "list_file" | "download_file" | "delete_file" | "delete_all_files";

const files: Readonly<Record<FileOperation, OperationDoc>> = {
  protect_file: {
    tag: "Files",
    summary: "Upload files",
    description:
      "Each as the next version of its filename, its last path segment; the names of form fields mean nothing. All or none: there must " +
      "be as many files as CountOfFiles says, no filename twice.",
    errors: [],
  },
  list_file: {
    tag: "Files",
    summary: "List files",
    description: "The latest version's figures and all versions of each file, by name.",
    errors: [],
  },
  download_file: {
    tag: "Files",
    summary: "Download a file",
    description: "The bytes of one version; of the latest, when none is named.",
    errors: ["file_not_found", "version_not_found"],
  },
  delete_file: {
    tag: "Files",
    summary: "Delete a file or one version of it",
    description: "Without a version all of them go; without a version left the file is gone.",
    errors: ["file_not_found", "version_not_found"],
  },
  delete_all_files: {
    tag: "Files",
    summary: "Delete all files",
    description: "Every file of the caller with all its versions.",
    errors: [],
  },
};

/** Every operation for a reader, in the order they are shown. The rules: docs/vault-api.md. */
export const operationDocs: Readonly<Record<Operation, OperationDoc>> = {
  ...tokens,
  ...secrets,
  ...sharedSecrets,
  ...teams,
  ...files,
};
