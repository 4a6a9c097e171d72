import type { Transaction } from "./store.ts";
import type { BlockedSenderTable } from "./tables/account-tables.ts";
import type { FileTable } from "./tables/file-table.ts";
import type { HandOverTable } from "./tables/hand-over-table.ts";
import type { ListRevisionTable } from "./tables/list-revision-table.ts";
import type { SecretTable } from "./tables/secret-table.ts";
import type { GrantTable, TeamTable } from "./tables/sharing-tables.ts";
import type { TrashTable } from "./tables/trash-table.ts";

function secretsWithRevisions(
  secrets: SecretTable,
  revisions: ListRevisionTable,
  touched: Set<string>,
): SecretTable {
  // One new revision per transaction: later changes of grantees give new revisions to them
  // themselves.
  const touch = async (secretId: string): Promise<void> => {
    if (touched.has(secretId)) return;
    touched.add(secretId);
    await revisions.touchUsersOfSecret(secretId);
  };
  return {
    ...secrets,
    // `insert` changes no list: a secret is listed once it has a version.
    async update(secret) {
      await Promise.all([secrets.update(secret), touch(secret.id)]);
    },
    async insertVersion(secretId, version, value) {
      await Promise.all([secrets.insertVersion(secretId, version, value), touch(secretId)]);
    },
    async updateVersion(secretId, version) {
      await Promise.all([secrets.updateVersion(secretId, version), touch(secretId)]);
    },
    async removeVersion(secretId, version) {
      await secrets.removeVersion(secretId, version);
      await touch(secretId);
    },
    async remove(secretId) {
      await touch(secretId);
      await secrets.remove(secretId);
    },
    // Later removals of its grants change no list.
    async retire(secretId) {
      await touch(secretId);
      await secrets.retire(secretId);
    },
    async removeOf(owner) {
      await revisions.touchUsersOfOwner(owner);
      await secrets.removeOf(owner);
    },
  };
}

function grantsWithRevisions(grants: GrantTable, revisions: ListRevisionTable): GrantTable {
  return {
    ...grants,
    // One new revision for all grantees: a secret may have thousands.
    async grant(secret, recipients, permission) {
      await grants.grant(secret, recipients, permission);
      await revisions.touchUsersOfSecret(secret.id);
    },
    async revoke(secretId, grantees) {
      await revisions.touchUsersOfSecret(secretId);
      return grants.revoke(secretId, grantees);
    },
    async dismissShare(secretId, email) {
      await revisions.touchUsersOfSecret(secretId);
      await grants.dismissShare(secretId, email);
    },
    async removeOf(email) {
      await revisions.touchUsersOfGrantee(email);
      await grants.removeOf(email);
    },
  };
}

function teamsWithRevisions(teams: TeamTable, revisions: ListRevisionTable): TeamTable {
  return {
    ...teams,
    async insert(team) {
      await revisions.touchUsers(team.members);
      return teams.insert(team);
    },
    async addMembers(team, emails) {
      await revisions.touchUsers(emails);
      await teams.addMembers(team, emails);
    },
    async removeMembers(groupId, emails) {
      await revisions.touchUsers(emails);
      await teams.removeMembers(groupId, emails);
    },
    // Members who block the former or the new creator see other secrets.
    async setCreator(team, email) {
      await teams.setCreator(team, email);
      await revisions.touchUsers([email]);
      await revisions.touchUsersOfTeamSecrets(team.groupId);
    },
    async remove(groupId) {
      await revisions.touchUsersOfTeamSecrets(groupId);
      await teams.remove(groupId);
      await revisions.removeTeam(groupId);
    },
  };
}

function filesWithRevisions(files: FileTable, revisions: ListRevisionTable): FileTable {
  return {
    ...files,
    // `insert` and `update` change no list: a file is listed once it has a version.
    async insertVersion(fileId, version) {
      await files.insertVersion(fileId, version);
      await revisions.touchOwnerOfFile(fileId);
    },
    async removeVersion(fileId, version) {
      await files.removeVersion(fileId, version);
      await revisions.touchOwnerOfFile(fileId);
    },
    async retire(fileId) {
      await revisions.touchOwnerOfFile(fileId);
      await files.retire(fileId);
    },
    async remove(fileId) {
      await revisions.touchOwnerOfFile(fileId);
      await files.remove(fileId);
    },
  };
}

function handOverWithRevisions(
  handOver: HandOverTable,
  revisions: ListRevisionTable,
): HandOverTable {
  return {
    ...handOver,
    // Before and after: the lists of the former and of the new owner change.
    async moveSecret(secretId, owner, name) {
      await revisions.touchUsersOfSecret(secretId);
      await handOver.moveSecret(secretId, owner, name);
      await revisions.touchUsersOfSecret(secretId);
    },
    async moveFile(fileId, owner, name) {
      await revisions.touchOwnerOfFile(fileId);
      await handOver.moveFile(fileId, owner, name);
      await revisions.touchOwnerOfFile(fileId);
    },
  };
}

function trashWithRevisions(trash: TrashTable, revisions: ListRevisionTable): TrashTable {
  return {
    ...trash,
    async put(kind, id, trashedAt, endsAt) {
      if (kind === "secret") await revisions.touchUsersOfSecret(id);
      else await revisions.touchOwnerOfFile(id);
      await trash.put(kind, id, trashedAt, endsAt);
    },
    async restore(kind, id, name) {
      await trash.restore(kind, id, name);
      if (kind === "secret") await revisions.touchUsersOfSecret(id);
      else await revisions.touchOwnerOfFile(id);
    },
  };
}

function blockedSendersWithRevisions(
  blockedSenders: BlockedSenderTable,
  revisions: ListRevisionTable,
): BlockedSenderTable {
  return {
    ...blockedSenders,
    async block(email, senders) {
      await revisions.touchUsers([email]);
      await blockedSenders.block(email, senders);
    },
    async unblock(email, senders) {
      await revisions.touchUsers([email]);
      await blockedSenders.unblock(email, senders);
    },
  };
}

/**
 * Wraps the tables: each write that can change a user's list of secrets or files gives that list a
 * new revision.
 * @param touched of `sqlTransaction`
 */
export function withListRevisions(tables: Transaction, touched: Set<string>): Transaction {
  const { secrets, grants, teams, files, blockedSenders, trash, handOver, listRevisions } = tables;
  return {
    ...tables,
    secrets: secretsWithRevisions(secrets, listRevisions, touched),
    grants: grantsWithRevisions(grants, listRevisions),
    teams: teamsWithRevisions(teams, listRevisions),
    files: filesWithRevisions(files, listRevisions),
    blockedSenders: blockedSendersWithRevisions(blockedSenders, listRevisions),
    trash: trashWithRevisions(trash, listRevisions),
    handOver: handOverWithRevisions(handOver, listRevisions),
  };
}
