import type { VaultClient, VaultResponse } from "./vault-client.ts";

/** Few users, secrets and teams: random steps affect each other. */
export const users = ["ann", "bob", "cid", "dee"] as const;
export type User = (typeof users)[number];
export const names = ["one", "two"] as const;
export type Name = (typeof names)[number];
export const teams = ["red", "blue"] as const;
export type Team = (typeof teams)[number];
export type Permission = "R" | "W" | "RW";

export const emailOf = (user: User): string => `${user}@example.com`;

interface Grants {
  readonly users: Map<User, Permission>;
  readonly teams: Map<Team, Permission>;
  /** Dismissed team grants, as `team user`. */
  readonly dismissed: Set<string>;
}

/**
 * A simple model of grants and permissions (docs/design/vault-contract.md#permissions). Results are
 * outcomes of responses.
 */
export class PermissionModel {
  readonly secrets = new Map<string, Grants>();
  readonly teams = new Map<Team, { creator: User; members: Set<User> }>();

  grants(owner: User, name: Name): Grants | undefined {
    return this.secrets.get(`${owner} ${name}`);
  }

  isShared(owner: User, name: Name): boolean {
    const grants = this.grants(owner, name);
    return grants !== undefined && grants.users.size + grants.teams.size > 0;
  }

  /** Returns the permission of a user: `R`, `W`, both or the empty string. */
  may(user: User, owner: User, name: Name): string {
    const grants = this.grants(owner, name);
    if (!grants) return "";
    if (user === owner) return "RW";
    const given = [grants.users.get(user) ?? ""];
    for (const [team, permission] of grants.teams) {
      const isMember = this.teams.get(team)?.members.has(user) === true;
      if (isMember && !grants.dismissed.has(`${team} ${user}`)) given.push(permission);
    }
    return ["R", "W"].filter((flag) => given.join("").includes(flag)).join("");
  }

  received(user: User, name: Name): User[] {
    return users.filter((owner) => owner !== user && this.may(user, owner, name) !== "");
  }

  creatorOutcome(user: User, name: Name): string {
    if (this.grants(user, name)) return "200";
    return this.received(user, name).length > 0 ? "403 forbidden" : "404 secret_not_found";
  }

  /** Returns the owner of the secret a link operation selects, or the error outcome. */
  linked(user: User, name: Name, owner?: User): string {
    const accessible = [...this.received(user, name), ...(this.grants(user, name) ? [user] : [])];
    const requested = accessible.filter((each) => owner === undefined || each === owner);
    const linked = requested.filter((each) => this.isShared(each, name));
    if (linked.length > 1) return "409 ambiguous_name";
    return (
      linked[0] ?? (requested.length > 0 ? "409 use_unshared_operation" : "404 secret_not_found")
    );
  }
}

/** The clients of one run of steps. */
export interface Run {
  readonly callers: Record<User, VaultClient>;
  /** Keeps the names of runs apart. */
  readonly suffix: string;
}

/**
 * A step: `predict` changes the model and returns the expected outcome, `run` sends the request.
 */
export interface Step {
  readonly predict: (model: PermissionModel) => string;
  readonly run: (run: Run) => Promise<VaultResponse>;
  readonly toString: () => string;
}

export function isUser(found: string): found is User {
  return users.some((user) => user === found);
}

export const protect = (user: User, name: Name): Step => ({
  toString: () => `${user} protects ${name}`,
  predict: (model) => {
    if (model.isShared(user, name)) return "409 use_link_operation";
    if (!model.grants(user, name)) {
      model.secrets.set(`${user} ${name}`, {
        users: new Map(),
        teams: new Map(),
        dismissed: new Set(),
      });
    }
    return "200";
  },
  run: ({ callers, suffix }) =>
    callers[user].call("protect", {
      key_name: name + suffix,
      key_value: `${user}'s`,
      metadata: { of: user },
    }),
});

export const remove = (user: User, name: Name): Step => ({
  toString: () => `${user} deletes ${name}`,
  predict: (model) => {
    const outcome = model.creatorOutcome(user, name);
    model.secrets.delete(`${user} ${name}`);
    return outcome;
  },
  run: ({ callers, suffix }) => callers[user].call("delete", { key_name: name + suffix }),
});

export const shareWithUser = (user: User, name: Name, to: User, permission: Permission): Step => ({
  toString: () => `${user} shares ${name} with ${to} for ${permission}`,
  predict: (model) => {
    if (user === to) return "400 invalid_request";
    model.grants(user, name)?.users.set(to, permission);
    return model.creatorOutcome(user, name);
  },
  run: ({ callers, suffix }) => {
    const usr_id_from = emailOf(user);
    return callers[user].call("share", {
      key_name: name + suffix,
      permission,
      usr_id_from,
      usr_id_to: [emailOf(to)],
    });
  },
});

export const shareWithTeam = (
  user: User,
  name: Name,
  team: Team,
  permission: Permission,
): Step => ({
  toString: () => `${user} shares ${name} with the ${team} team for ${permission}`,
  predict: (model) => {
    const outcome = model.creatorOutcome(user, name);
    const grants = model.grants(user, name);
    if (!grants) return outcome;
    if (!model.teams.get(team)?.members.has(user)) return "404 team_not_found";
    grants.teams.set(team, permission);
    for (const member of users) grants.dismissed.delete(`${team} ${member}`);
    return outcome;
  },
  run: ({ callers, suffix }) => {
    const more = { usr_id_from: emailOf(user), group_id_to: team + suffix };
    return callers[user].call("share", { key_name: name + suffix, permission, ...more });
  },
});

export type From = { user: User } | { team: Team } | "all";

export const unshare = (user: User, name: Name, from: From): Step => ({
  toString: () => `${user} unshares ${name} from ${JSON.stringify(from)}`,
  predict: (model) => {
    const grants = model.grants(user, name);
    if (from === "all") {
      grants?.users.clear();
      grants?.teams.clear();
      grants?.dismissed.clear();
    } else if ("user" in from) grants?.users.delete(from.user);
    else {
      grants?.teams.delete(from.team);
      for (const member of users) grants?.dismissed.delete(`${from.team} ${member}`);
    }
    return model.creatorOutcome(user, name);
  },
  run: ({ callers, suffix }) => {
    const fields =
      from === "all"
        ? {}
        : "user" in from
          ? { usr_id_to: emailOf(from.user) }
          : { group_id_to: from.team + suffix };
    return callers[user].call("unshare", { key_name: name + suffix, ...fields });
  },
});

export const dismissShare = (user: User, name: Name): Step => ({
  toString: () => `${user} dismisses ${name}`,
  predict: (model) => {
    const received = model.received(user, name);
    if (received.length > 1) return "409 ambiguous_name";
    const [owner] = received;
    if (owner === undefined) return "404 secret_not_found";
    const grants = model.grants(owner, name);
    grants?.users.delete(user);
    for (const team of grants?.teams.keys() ?? []) {
      if (model.teams.get(team)?.members.has(user)) grants?.dismissed.add(`${team} ${user}`);
    }
    return "200";
  },
  run: ({ callers, suffix }) =>
    callers[user].call("delete_shared_key_link", { key_name: name + suffix }),
});

export const createTeam = (user: User, team: Team, member: User): Step => ({
  toString: () => `${user} creates the ${team} team with ${member}`,
  predict: (model) => {
    if (model.teams.has(team)) return "409 team_exists";
    model.teams.set(team, { creator: user, members: new Set([user, member]) });
    return "200";
  },
  run: ({ callers, suffix }) =>
    callers[user].call("team_create", { group_id: team + suffix, members: [emailOf(member)] }),
});

export const changeTeam = (
  user: User,
  team: Team,
  change: "joins" | "leaves",
  member: User,
): Step => ({
  toString: () => `${user} says that ${member} ${change} the ${team} team`,
  predict: (model) => {
    const known = model.teams.get(team);
    if (!known?.members.has(user)) return "404 team_not_found";
    if (known.creator !== user) return "403 forbidden";
    if (change === "joins") known.members.add(member);
    else if (member === known.creator) return "400 invalid_request";
    else known.members.delete(member);
    return "200";
  },
  run: ({ callers, suffix }) => {
    const operation = change === "joins" ? "team_add_members" : "team_remove_members";
    return callers[user].call(operation, { group_id: team + suffix, members: emailOf(member) });
  },
});

export const deleteTeam = (user: User, team: Team): Step => ({
  toString: () => `${user} deletes the ${team} team`,
  predict: (model) => {
    const known = model.teams.get(team);
    if (!known?.members.has(user)) return "404 team_not_found";
    if (known.creator !== user) return "403 forbidden";
    model.teams.delete(team);
    for (const grants of model.secrets.values()) {
      grants.teams.delete(team);
      for (const member of users) grants.dismissed.delete(`${team} ${member}`);
    }
    return "200";
  },
  run: ({ callers, suffix }) => callers[user].call("team_delete", { group_id: team + suffix }),
});
