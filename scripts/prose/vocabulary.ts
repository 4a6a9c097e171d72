/**
 * A word that the project does not use, with the standard term that replaces it (CONTRIBUTING.md,
 * "Vocabulary").
 */
export interface BannedWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

const word = (source: string): RegExp => new RegExp(`\\b(?:${source})\\b`, "gi");

/** Checked in comments, string literals, test names and Markdown. */
export const bannedWords: readonly BannedWord[] = [
  { pattern: word("answer(?:s|ed|ing)?"), instead: "return, respond, response" },
  {
    pattern: word("somebody|anybody|nobody|everybody|whoever"),
    instead: "user, caller, client, recipient",
  },
  { pattern: word("people|persons?"), instead: "user, caller, recipient" },
  { pattern: word("moments?"), instead: "time, timestamp, deadline" },
  { pattern: word("told|tells"), instead: "is notified, reported, logged" },
  { pattern: word("as (?:it|they) (?:is|are|was|were)"), instead: "unchanged" },
  { pattern: word("anew|made again"), instead: "again, recreated" },
  { pattern: word("at once"), instead: "immediately, in one request" },
  { pattern: word("goes on|under way|begun"), instead: "continues, in progress, started" },
  { pattern: word("put right|mend(?:s|ed|ing)?"), instead: "fix, repair" },
  {
    pattern: word("for good|for ever|again and again"),
    instead: "permanently, indefinitely, repeatedly",
  },
  { pattern: word("beside"), instead: "next to, in addition to" },
  { pattern: word("left out"), instead: "omitted, skipped" },
  { pattern: word("in step|back-off"), instead: "in sync; backoff" },
  { pattern: word("rooms?|doors?"), instead: "module, package" },
  { pattern: word("log-ins?|log-outs?"), instead: "login, logout (noun); log in, log out (verb)" },
  { pattern: word("e-mails?"), instead: "email" },
  { pattern: word("letters?|letterhead"), instead: "email, message" },
  { pattern: word("lapse[sd]?"), instead: "expired" },
  { pattern: word("put away|throw-away"), instead: "dismiss; ephemeral" },
  { pattern: word("spoiled"), instead: "corrupted, malformed" },
  {
    pattern: word("failed for good|needs a person|truth value"),
    instead: "terminal error; requires action; boolean",
  },
];

/** Checked in comments only: a citation of something that is not in the repository. */
export const citations: readonly BannedWord[] = [
  { pattern: /\bSources?: /g, instead: "the reason, or a link to a heading in docs/" },
  { pattern: /\b(?:design|contract): /g, instead: "the reason, or a link to a heading in docs/" },
  { pattern: /\bissues? \d+\b/gi, instead: "the reason, or a link to a heading in docs/" },
];

/** Doc comments start with a verb or a noun phrase. */
export const noClauseStart = /^(?:What|How|Where|Whether|Who|Of)\b/;

/** Longest name of a test, so that it fits a line of a failing run. */
export const longestTestName = 90;

/** Places where a banned word is right. `text` is part of the line. */
export const exceptions: readonly {
  readonly path: RegExp;
  readonly text: RegExp;
  readonly reason: string;
}[] = [
  {
    path: /^\.github\/CONTRIBUTING\.md$/,
    text: /^\| .* \| .* \|$/,
    reason: "the table of replacements",
  },
  {
    path: /./,
    text: /\b(?:letters, digits|consist of letters|lower-case letters)\b/i,
    reason: "letters of the alphabet",
  },
  { path: /\.test\.ts$/, text: /nobody@example\.com/, reason: "an address without an account" },
  {
    path: /(?:sql-list-revisions|change-feed)\.ts$/,
    text: /person:/,
    reason: "subjects stored in list_revisions",
  },
];
