/**
 * Subjects of changes. Subjects of lists are the keys of `list_revisions` too. Email addresses are
 * canonical.
 */
export const subjects = {
  /** The list of secrets of one user. */
  user: (email: string) => `person:${email}`,
  /** The lists of secrets of the members of one team. */
  team: (groupId: string) => `team:${groupId}`,
  /** The list of files of one user. */
  files: (email: string) => `files:${email}`,
  /** Tokens and sessions of one account that were ended before their time; has no revision. */
  credentials: (email: string) => `credentials:${email}`,
} as const;
