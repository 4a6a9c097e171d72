import type { VaultClient, VaultResponse } from "./vault-client.ts";

/** People, secrets and teams small enough that random steps meet each other. */
export const people = ["ann", "bob", "cid", "dee"] as const;
export type Person = (typeof people)[number];
export const names = ["one", "two"] as const;
export type Name = (typeof names)[number];
export const teams = ["red", "blue"] as const;
export type Team = (typeof teams)[number];
export type Permission = "R" | "W" | "RW";

export const emailOf = (person: Person): string => `${person}@example.com`;

interface Grants {
  readonly people: Map<Person, Permission>;
  readonly teams: Map<Team, Permission>;
  /** Who has put which team's grant away, as `team person`. */
  readonly hidden: Set<string>;
}

/** What the contract says of grants, in the plainest way. Answers are outcomes as on the wire. */
export class Model {
  readonly secrets = new Map<string, Grants>();
  readonly teams = new Map<Team, { creator: Person; members: Set<Person> }>();

  grants(owner: Person, name: Name): Grants | undefined {
    return this.secrets.get(`${owner} ${name}`);
  }

  isShared(owner: Person, name: Name): boolean {
    const grants = this.grants(owner, name);
    return grants !== undefined && grants.people.size + grants.teams.size > 0;
  }

  /** What somebody may do with a secret: letters of R and W; empty when it is nothing to them. */
  may(person: Person, owner: Person, name: Name): string {
    const grants = this.grants(owner, name);
    if (!grants) return "";
    if (person === owner) return "RW";
    const given = [grants.people.get(person) ?? ""];
    for (const [team, permission] of grants.teams) {
      const isMember = this.teams.get(team)?.members.has(person) === true;
      if (isMember && !grants.hidden.has(`${team} ${person}`)) given.push(permission);
    }
    return ["R", "W"].filter((letter) => given.join("").includes(letter)).join("");
  }

  received(person: Person, name: Name): Person[] {
    return people.filter((owner) => owner !== person && this.may(person, owner, name) !== "");
  }

  creatorsAnswer(person: Person, name: Name): string {
    if (this.grants(person, name)) return "200";
    return this.received(person, name).length > 0 ? "403 forbidden" : "404 secret_not_found";
  }

  /** Whose secret a link operation is about, or why it is about none. */
  linked(person: Person, name: Name, owner?: Person): string {
    const held = [...this.received(person, name), ...(this.grants(person, name) ? [person] : [])];
    const asked = held.filter((each) => owner === undefined || each === owner);
    const linked = asked.filter((each) => this.isShared(each, name));
    if (linked.length > 1) return "409 ambiguous_name";
    return linked[0] ?? (asked.length > 0 ? "409 use_unshared_operation" : "404 secret_not_found");
  }
}

export interface World {
  readonly callers: Record<Person, VaultClient>;
  /** Makes a run's names its own. */
  readonly suffix: string;
}

/** A step: its outcome by the model, which it changes, and on the wire. */
export interface Step {
  readonly predict: (model: Model) => string;
  readonly run: (world: World) => Promise<VaultResponse>;
  readonly toString: () => string;
}

export function isPerson(found: string): found is Person {
  return people.some((person) => person === found);
}

export const protect = (person: Person, name: Name): Step => ({
  toString: () => `${person} protects ${name}`,
  predict: (model) => {
    if (model.isShared(person, name)) return "409 use_link_operation";
    if (!model.grants(person, name)) {
      model.secrets.set(`${person} ${name}`, { people: new Map(), teams: new Map(), hidden: new Set() });
    }
    return "200";
  },
  run: ({ callers, suffix }) =>
    callers[person].call("protect", { key_name: name + suffix, key_value: `${person}'s`, metadata: { of: person } }),
});

export const remove = (person: Person, name: Name): Step => ({
  toString: () => `${person} deletes ${name}`,
  predict: (model) => {
    const outcome = model.creatorsAnswer(person, name);
    model.secrets.delete(`${person} ${name}`);
    return outcome;
  },
  run: ({ callers, suffix }) => callers[person].call("delete", { key_name: name + suffix }),
});

export const shareWithPerson = (person: Person, name: Name, to: Person, permission: Permission): Step => ({
  toString: () => `${person} shares ${name} with ${to} for ${permission}`,
  predict: (model) => {
    if (person === to) return "400 invalid_request";
    model.grants(person, name)?.people.set(to, permission);
    return model.creatorsAnswer(person, name);
  },
  run: ({ callers, suffix }) => {
    const usr_id_from = emailOf(person);
    return callers[person].call("share", { key_name: name + suffix, permission, usr_id_from, usr_id_to: [emailOf(to)] });
  },
});

export const shareWithTeam = (person: Person, name: Name, team: Team, permission: Permission): Step => ({
  toString: () => `${person} shares ${name} with the ${team} team for ${permission}`,
  predict: (model) => {
    const outcome = model.creatorsAnswer(person, name);
    const grants = model.grants(person, name);
    if (!grants) return outcome;
    if (!model.teams.has(team)) return "404 team_not_found";
    if (!model.teams.get(team)?.members.has(person)) return "403 forbidden";
    grants.teams.set(team, permission);
    for (const member of people) grants.hidden.delete(`${team} ${member}`);
    return outcome;
  },
  run: ({ callers, suffix }) => {
    const more = { usr_id_from: emailOf(person), group_id_to: team + suffix };
    return callers[person].call("share", { key_name: name + suffix, permission, ...more });
  },
});

export type From = { person: Person } | { team: Team } | "all";

export const unshare = (person: Person, name: Name, from: From): Step => ({
  toString: () => `${person} takes ${name} back from ${JSON.stringify(from)}`,
  predict: (model) => {
    const grants = model.grants(person, name);
    if (from === "all") {
      grants?.people.clear();
      grants?.teams.clear();
      grants?.hidden.clear();
    } else if ("person" in from) grants?.people.delete(from.person);
    else {
      grants?.teams.delete(from.team);
      for (const member of people) grants?.hidden.delete(`${from.team} ${member}`);
    }
    return model.creatorsAnswer(person, name);
  },
  run: ({ callers, suffix }) => {
    const fields =
      from === "all" ? {} : "person" in from ? { usr_id_to: emailOf(from.person) } : { group_id_to: from.team + suffix };
    return callers[person].call("unshare", { key_name: name + suffix, ...fields });
  },
});

export const dismissShare = (person: Person, name: Name): Step => ({
  toString: () => `${person} puts ${name} away`,
  predict: (model) => {
    const received = model.received(person, name);
    if (received.length > 1) return "409 ambiguous_name";
    const [owner] = received;
    if (owner === undefined) return "404 secret_not_found";
    const grants = model.grants(owner, name);
    grants?.people.delete(person);
    for (const team of grants?.teams.keys() ?? []) {
      if (model.teams.get(team)?.members.has(person)) grants?.hidden.add(`${team} ${person}`);
    }
    return "200";
  },
  run: ({ callers, suffix }) => callers[person].call("delete_shared_key_link", { key_name: name + suffix }),
});

export const createTeam = (person: Person, team: Team, member: Person): Step => ({
  toString: () => `${person} creates the ${team} team with ${member}`,
  predict: (model) => {
    if (model.teams.has(team)) return "409 team_exists";
    model.teams.set(team, { creator: person, members: new Set([person, member]) });
    return "200";
  },
  run: ({ callers, suffix }) => callers[person].call("team_create", { group_id: team + suffix, members: [emailOf(member)] }),
});

export const changeTeam = (person: Person, team: Team, change: "joins" | "leaves", member: Person): Step => ({
  toString: () => `${person} says that ${member} ${change} the ${team} team`,
  predict: (model) => {
    const known = model.teams.get(team);
    if (!known) return "404 team_not_found";
    if (known.creator !== person) return "403 forbidden";
    if (change === "joins") known.members.add(member);
    else if (member === known.creator) return "400 invalid_request";
    else known.members.delete(member);
    return "200";
  },
  run: ({ callers, suffix }) => {
    const operation = change === "joins" ? "team_add_members" : "team_remove_members";
    return callers[person].call(operation, { group_id: team + suffix, members: emailOf(member) });
  },
});

export const deleteTeam = (person: Person, team: Team): Step => ({
  toString: () => `${person} deletes the ${team} team`,
  predict: (model) => {
    const known = model.teams.get(team);
    if (!known) return "404 team_not_found";
    if (known.creator !== person) return "403 forbidden";
    model.teams.delete(team);
    for (const grants of model.secrets.values()) {
      grants.teams.delete(team);
      for (const member of people) grants.hidden.delete(`${team} ${member}`);
    }
    return "200";
  },
  run: ({ callers, suffix }) => callers[person].call("team_delete", { group_id: team + suffix }),
});
