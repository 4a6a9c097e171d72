import type { GrantTable, ListRevisionTable, SecretTable, TeamTable, Transaction } from "./store.ts";

function revisingSecrets(secrets: SecretTable, revisions: ListRevisionTable): SecretTable {
  return {
    ...secrets,
    // `insert` alone changes no list: a secret is in none before it has a version.
    async update(secret) {
      await secrets.update(secret);
      await revisions.touchHolders(secret.id);
    },
    async insertVersion(secretId, version, value) {
      await secrets.insertVersion(secretId, version, value);
      await revisions.touchHolders(secretId);
    },
    async updateVersion(secretId, version) {
      await secrets.updateVersion(secretId, version);
      await revisions.touchHolders(secretId);
    },
    async removeVersion(secretId, version) {
      await secrets.removeVersion(secretId, version);
      await revisions.touchHolders(secretId);
    },
    async remove(secretId) {
      await revisions.touchHolders(secretId);
      await secrets.remove(secretId);
    },
    async removeDue(now) {
      await revisions.touchHoldersOfDue(now);
      return secrets.removeDue(now);
    },
  };
}

function revisingGrants(grants: GrantTable, revisions: ListRevisionTable): GrantTable {
  return {
    ...grants,
    async grant(secretId, grantee, permission) {
      await grants.grant(secretId, grantee, permission);
      await revisions.touchHolders(secretId);
    },
    async revoke(secretId, grantee) {
      await revisions.touchHolders(secretId);
      return grants.revoke(secretId, grantee);
    },
    async putAway(secretId, email) {
      await revisions.touchHolders(secretId);
      await grants.putAway(secretId, email);
    },
  };
}

function revisingTeams(teams: TeamTable, revisions: ListRevisionTable): TeamTable {
  return {
    ...teams,
    async insert(team) {
      await revisions.touchPeople(team.members);
      return teams.insert(team);
    },
    async addMembers(groupId, emails) {
      await revisions.touchPeople(emails);
      await teams.addMembers(groupId, emails);
    },
    async removeMembers(groupId, emails) {
      await revisions.touchPeople(emails);
      await teams.removeMembers(groupId, emails);
    },
    async remove(groupId) {
      await revisions.touchHoldersThroughTeam(groupId);
      await teams.remove(groupId);
    },
  };
}

/** The same tables, where each write that can change what somebody's list of secrets shows gives that list a new revision. */
export function revisingLists(tables: Transaction): Transaction {
  const { secrets, grants, teams, listRevisions } = tables;
  return {
    ...tables,
    secrets: revisingSecrets(secrets, listRevisions),
    grants: revisingGrants(grants, listRevisions),
    teams: revisingTeams(teams, listRevisions),
  };
}
