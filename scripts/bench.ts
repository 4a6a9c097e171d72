import { runNamed, type Menu } from "./menu/menu.ts";

const menu: Menu = {
  vault: {
    description: "throughput and latency of the vault server, request by request",
    node: ["scripts/bench/vault.ts"],
  },
  mixed: {
    description: "reads, writes and lists of many clients, also of another vault next to it",
    node: ["scripts/bench/mixed.ts"],
  },
  load: {
    description: "many clients of the vault server for a time",
    node: ["scripts/bench/load.ts"],
  },
  waiting: {
    description: "thousands of requests that wait for a change of their list",
    node: ["scripts/bench/waiting-lists.ts"],
  },
  attack: {
    description: "ordinary clients next to an attacker",
    node: ["scripts/bench/attack.ts"],
  },
  "hot-row": {
    description: "ordinary clients next to one secret that everything writes",
    node: ["scripts/bench/hot-row.ts"],
  },
  findings: {
    description: "the most expensive single requests, once each",
    node: ["scripts/bench/findings.ts"],
  },
  audit: {
    description: "requests with and without the audit log",
    node: ["scripts/bench/audit-log.ts"],
  },
  kill9: {
    description: "a vault server that is killed under load loses no acknowledged write",
    node: ["scripts/bench/kill9.ts"],
  },
  races: {
    description: "clients that race at vault servers, and the rules that no race breaks",
    node: ["scripts/bench/races.ts"],
  },
  operator: {
    description: "requests, memory and times of the operator in its scenarios",
    node: ["scripts/bench/operator.ts"],
  },
  "fan-out": {
    description: "one secret as a Secret in many namespaces, by one resource",
    node: ["scripts/bench/fan-out.ts"],
  },
  regression: {
    description: "the operator next to an earlier revision; fails if a figure became worse",
    node: ["scripts/bench/regression.ts"],
  },
  propagation: {
    description: "time from a change in the vault to the Secret",
    node: ["scripts/bench/propagation.ts"],
  },
  start: {
    description: "logins of many connections at a start",
    node: ["scripts/bench/start.ts"],
  },
  memory: {
    description: "memory of the operator by number of resources",
    node: ["scripts/bench/memory.ts"],
  },
  web: {
    description: "visits of the web application, in a browser",
    node: ["scripts/bench/web.ts"],
  },
  local: {
    description: "start of vaultsync run next to Node alone, and the speed of --mask",
    node: ["scripts/bench/local.ts"],
  },
  lists: {
    description: "lists of a hundred thousand entries in the operator",
    node: ["scripts/bench/long-lists.ts"],
  },
  compare: {
    description: "two results of vault, mixed or operator side by side",
    node: ["scripts/bench/compare.ts"],
  },
};

process.exitCode = await runNamed(
  "npm run bench -- NAME [OPTIONS]    (NAME --help lists the options)",
  menu,
);
