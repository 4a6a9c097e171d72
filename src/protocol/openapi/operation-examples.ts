import { defaultMetadata } from "../metadata.ts";
import type { Operation } from "../operation-paths.ts";

export interface OperationExample {
  /** The JSON body, or for `protect_file` nothing. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** The JSON answer, or for `download_file` nothing. */
  readonly answer?: Readonly<Record<string, unknown>>;
}

const email = "ann@example.com";
const key_name = "shop-db";
const created = "2026-11-20T10:00:00.000Z";
const metadata = { ...defaultMetadata, project: "shop" };
const version = { key_name, key_version: 2, owner: email };

const record = {
  ...version,
  shared: false,
  permission: "RW",
  metadata,
  delete_time: 525_600_000,
  created_at: created,
  updated_at: created,
  expires_at: "2026-11-30T10:00:00.000Z",
  expired: false,
  delete_at: "3026-03-25T10:00:00.000Z",
};
const exposed = { key_name, key_value: "correct horse battery staple", key_version: 2, metadata, owner: email, expired: false };
const link = { email: "bob@example.com", key_name, owner: email };
const received = { ...record, shared: true };
const team = { group_id: "shop-team", creator: email, members: [email, "bob@example.com"] };
const someMembers = { email, group_id: team.group_id, members: ["bob@example.com"] };
const tokens = {
  access_token: "Zk0vX2dTj3hB8wq1rYc5uLn7pE4mA6sFiGtKoQeDxHw",
  expires_in: 86_400,
  id_token: "n1RUq8vO5yYwJc2tLz7bX4dKfM9hS3gPaEiQrTuWxZo",
  refresh_token: "b7TnQ3yWk9Lx2Vd5Jc8Hs1Fg4Mz6Rp0Eu-aIoYtGvBw",
  scope: "cloud_type:*,environment_type:dev,application_type:*,classification:*,secret_name:*",
  token_type: "access",
};
const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const uploaded = { version: 1, size: 5, sha256 };
const listed = { ...uploaded, created_at: created };

/** One request and its answer for every operation; names and values are made up. */
export const operationExamples: Readonly<Record<Operation, OperationExample>> = {
  generate_access_token: {
    request: { email, password: "a long password", scope: tokens.scope, expiration_hours: 24 },
    answer: tokens,
  },
  refresh_token: {
    request: { refresh_token: tokens.refresh_token, used_access_token: tokens.access_token },
    answer: tokens,
  },
  protect: {
    request: { email, key_name, key_value: exposed.key_value, metadata: { environment_type: "dev", project: "shop" } },
    answer: { secret: record },
  },
  list_no_dup: { request: { email }, answer: { secrets: [record] } },
  expose: { request: { email, key_name }, answer: exposed },
  version_list: { request: { email, key_name }, answer: { key_name, versions: [record] } },
  version_expose: { request: { email, key_name, key_version: 2 }, answer: exposed },
  version_delete: { request: { email, key_name, key_version: 1 }, answer: { deleted: { key_name, key_version: 1 } } },
  update_key_metadata: {
    request: { email, key_name, key_version: 2, metadata: { project: "shop" } },
    answer: { secret: record },
  },
  delete: { request: { email, key_name: [key_name] }, answer: { deleted: [key_name] } },
  share: {
    request: { email, key_name: [key_name], permission: "R", usr_id_from: email, usr_id_to: ["bob@example.com"] },
    answer: { shared: [{ key_name, to: "bob@example.com", permission: "R", state: "active" }] },
  },
  unshare: {
    request: { email, key_name, usr_id_to: "bob@example.com" },
    answer: { unshared: [{ key_name, from: "bob@example.com" }] },
  },
  share_list: {
    request: { email, key_name },
    answer: {
      key_name,
      shares: [
        { to: "bob@example.com", kind: "person", permission: "R", state: "active" },
        { to: team.group_id, kind: "team", permission: "RW", state: "invited" },
      ],
    },
  },
  delete_shared_key_link: { request: link, answer: { removed: { key_name, owner: email } } },
  expose_link: { request: link, answer: exposed },
  protect_link: {
    request: { ...link, key_value: exposed.key_value, without_list: 1 },
    answer: { secret: received },
  },
  version_list_for_link: { request: link, answer: { key_name, versions: [received] } },
  version_expose_link: { request: { ...link, key_version: 2 }, answer: exposed },
  team_create: { request: someMembers, answer: { team } },
  team_add_members: { request: someMembers, answer: { team } },
  team_remove_members: { request: someMembers, answer: { team: { ...team, members: [email] } } },
  team_list: { request: { email }, answer: { teams: [team] } },
  team_delete: { request: { email, group_id: team.group_id }, answer: { deleted: { group_id: team.group_id } } },
  protect_file: { answer: { files: [{ filename: "hello.txt", ...uploaded }] } },
  list_file: { request: { email }, answer: { files: [{ filename: "hello.txt", ...listed, versions: [listed] }] } },
  download_file: { request: { email, filename: "hello.txt" } },
  delete_file: {
    request: { email, filename: "hello.txt", version: 1 },
    answer: { deleted: { filename: "hello.txt", versions: [1] } },
  },
  delete_all_files: { request: { email }, answer: { deleted: 1 } },
};
