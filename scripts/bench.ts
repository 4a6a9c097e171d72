import { runNamed, type Menu } from "./menu/menu.ts";

const menu: Menu = {
  vault: {
    description: "throughput and latency of the vault server, request by request",
    node: ["bench/vault.ts"],
  },
  mixed: {
    description: "reads, writes and lists of many clients, also of another vault next to it",
    node: ["bench/mixed.ts"],
  },
  load: {
    description: "many clients of the vault server for a time",
    node: ["bench/load.ts"],
  },
  waiting: {
    description: "thousands of requests that wait for a change of their list",
    node: ["bench/waiting-lists.ts"],
  },
  attack: {
    description: "ordinary clients next to an attacker",
    node: ["bench/attack.ts"],
  },
  "hot-row": {
    description: "ordinary clients next to one secret that everything writes",
    node: ["bench/hot-row.ts"],
  },
  findings: {
    description: "the most expensive single requests, once each",
    node: ["bench/findings.ts"],
  },
  audit: {
    description: "requests with and without the audit log",
    node: ["bench/audit-log.ts"],
  },
  kill9: {
    description: "a vault server that is killed under load loses no acknowledged write",
    node: ["scripts/kill9.ts"],
  },
  races: {
    description: "clients that race at vault servers, and the rules that no race breaks",
    node: ["scripts/races.ts"],
  },
  operator: {
    description: "requests, memory and times of the operator in its scenarios",
    node: ["bench/operator.ts"],
  },
  regression: {
    description: "the operator next to an earlier revision; fails if a figure became worse",
    node: ["bench/regression.ts"],
  },
  propagation: {
    description: "time from a change in the vault to the Secret",
    node: ["bench/propagation.ts"],
  },
  start: {
    description: "logins of many connections at a start",
    node: ["bench/start.ts"],
  },
  memory: {
    description: "memory of the operator by number of resources",
    node: ["bench/memory.ts"],
  },
  lists: {
    description: "lists of a hundred thousand entries in the operator",
    node: ["bench/long-lists.ts"],
  },
  compare: {
    description: "two results of vault, mixed or operator side by side",
    node: ["bench/compare.ts"],
  },
};

process.exitCode = await runNamed(
  "npm run bench -- NAME [OPTIONS]    (NAME --help lists the options)",
  menu,
);
