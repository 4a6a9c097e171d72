import { clientErrorTables, vaultErrorTable } from "./error-tables.ts";
import { resourceFields } from "./resource-fields.ts";
import { vaultApi } from "./vault-api.ts";
import { alertsOf, parts, NO_SAMPLES } from "../../test/lab/monitoring/rules.ts";
import { plain, table, code } from "./markdown.ts";
import { operatorCommand } from "../../src/operator/cli/operator.ts";
import { reasons } from "../../src/operator/api/reasons.ts";
import { MetricsRegistry, type MetricDefinition } from "../../src/telemetry/metrics-registry.ts";
import { apiServerMetrics, operatorMetrics } from "../../src/telemetry/operator-metrics.ts";
import { VaultMetrics } from "../../src/vault/server/metrics.ts";
import type { Command, Option } from "commander";
import { program } from "../../src/program.ts";
import { homedir } from "node:os";

/** Returns the default of an option, empty without one. */
function defaultOf({ defaultValue, defaultValueDescription, negate }: Option): string {
  if (defaultValue === undefined || defaultValue === false || negate) return "";
  return code(defaultValueDescription ?? String(defaultValue)).replace(homedir(), "~");
}

/** Returns the description of an option with its choices, its default and its variable. */
function descriptionOf(option: Option, variable?: string): string {
  const choices = option.argChoices?.map((choice) => code(choice)).join(", ") ?? "";
  const standard = defaultOf(option);
  const notes = [
    choices,
    standard && `default ${standard}`,
    variable === undefined ? "" : `variable ${code(variable)}`,
  ]
    .filter(Boolean)
    .join("; ");
  return plain(option.description) + (notes === "" ? "" : ` (${notes})`);
}

/** Returns the options of a command as a table. */
const optionTable = (options: readonly Option[]): string =>
  table(
    ["Option", "Description"],
    options.map((option) => [code(option.flags), descriptionOf(option, option.envVar)]),
  );

/**
 * Returns the options of a program as a table without their variables, because the page states how
 * a flag gives its variable its name.
 * @throws Error when a variable has another name
 */
function programTable(prefix: string, options: readonly Option[]): string {
  for (const { long, envVar } of options) {
    const derived = `${prefix}_${long?.slice(2).replaceAll("-", "_").toUpperCase()}`;
    if (envVar !== derived)
      throw new Error(`the variable of ${long} is ${envVar}, and the manual says ${derived}`);
  }
  return table(
    ["Flag", "Description"],
    options.map((option) => [code(option.flags), descriptionOf(option)]),
  );
}

/** Commands whose options another page or another section shows. */
const elsewhere: readonly string[] = ["operator", "help"];

/** An option that this many commands have is common. */
const COMMON_USES = 2;

const isShown = ({ hidden }: Option): boolean => !hidden;
const keyOf = ({ flags, description }: Option): string => `${flags}\n${description}`;

/** Returns the options that several commands have, by their key. */
function commonOptions(commands: readonly Command[]): Map<string, Option> {
  const uses = Map.groupBy(
    commands.flatMap(({ options }) => options.filter(isShown)),
    keyOf,
  );
  return new Map(
    [...uses].flatMap(([key, [option, ...more]]) =>
      option !== undefined && more.length + 1 >= COMMON_USES ? [[key, option] as const] : [],
    ),
  );
}

/** Returns the options of a command: the names of common ones, and a table of the rest. */
function optionsOf(command: Command, common: Map<string, Option>): string {
  const options = command.options.filter(isShown);
  if (options.length === 0) return "It has no options.";
  const shared = options.filter((option) => common.has(keyOf(option)));
  const rest = options.filter((option) => !common.has(keyOf(option)));
  const names = shared.map(({ flags }) => code(flags)).join(", ");
  return [
    ...(shared.length > 0 ? [`[Common options](#common-options): ${names}.`] : []),
    ...(rest.length > 0 ? [optionTable(rest)] : []),
  ].join("\n\n");
}

function usageOf(command: Command, path: string): string {
  return code(`${path} ${command.usage()}`);
}

/** Returns the subcommands of a command as a table: usage without options, effect and options. */
function subcommandsOf(command: Command, path: string): string {
  return table(
    ["Command", "Effect", "Options"],
    command.commands.flatMap((each) =>
      each.commands.length > 0 ? rowsOf(each, `${path} ${each.name()}`) : [rowOf(each, path)],
    ),
  );
}

const rowsOf = (command: Command, path: string): string[][] =>
  command.commands.map((each) => rowOf(each, path));

function rowOf(command: Command, path: string): string[] {
  const usage = command.usage().replace("[options]", "").trim();
  const flags = command.options.filter(isShown).map(({ long, flags: all }) => code(long ?? all));
  return [
    code(`${path} ${command.name()} ${usage}`.trim()),
    command.description(),
    command.name() === "serve" ? "[below](#vaultsync-vault-serve)" : flags.join(", "),
  ];
}

function sectionOf(command: Command, common: Map<string, Option>): string {
  const path = `vaultsync ${command.name()}`;
  const details =
    command.commands.length > 0 ? subcommandsOf(command, path) : optionsOf(command, common);
  return `${usageOf(command, path)}\n\n${command.description()}\n\n${details}`;
}

/**
 * Returns the sections of docs/command-line.md by the name of the command: its usage, description
 * and options, or its subcommands.
 */
function commandLine(): Record<string, string> {
  const commands = program().commands.filter((command) => !elsewhere.includes(command.name()));
  const common = commonOptions(commands);
  const sections: Record<string, string> = { "common-options": optionTable([...common.values()]) };
  for (const command of commands) {
    sections[command.name()] = sectionOf(command, common);
    const serve = command.commands.find((each) => each.name() === "serve");
    if (serve !== undefined)
      sections["vault-serve"] = programTable("VAULTSYNC_VAULT", serve.options);
  }
  return sections;
}

const isClient = ({ name }: MetricDefinition): boolean => name.startsWith("vaultsync_client_");

function metricsTable(definitions: readonly MetricDefinition[]): string {
  return table(
    ["Metric", "Type", "Labels", "Meaning"],
    definitions.map(({ name, type, labels, help }) => [
      code(name),
      type,
      labels.map(code).join(", "),
      plain(help),
    ]),
  );
}

/**
 * Returns the tables of docs/monitoring.md by the name of their section, from the definitions of the
 * metrics.
 */
function metricsTables(): Record<string, string> {
  const registry = new MetricsRegistry();
  operatorMetrics(registry, () => NO_SAMPLES);
  const apiServer = new MetricsRegistry();
  apiServerMetrics(apiServer);
  return {
    operator: metricsTable(registry.definitions.filter((definition) => !isClient(definition))),
    client: metricsTable(registry.definitions.filter(isClient)),
    "api-server": metricsTable(apiServer.definitions),
    vault: metricsTable(new VaultMetrics().registry.definitions),
  };
}

/** Returns every reason of a condition with its remedy, as a table. */
function reasonsTable(): string {
  return table(
    ["Reason", "Requires action", "Remedy"],
    Object.entries(reasons).map(([reason, { remedy, stalled }]) => [
      code(reason),
      stalled ? "yes" : "",
      plain(remedy),
    ]),
  );
}

/** Returns the index of the alerts of each program, as tables with links to their sections. */
function alertTables(): Record<string, string> {
  return Object.fromEntries(
    parts.map((part) => [
      `${part}-alerts`,
      table(
        ["Alert", "Severity", "After"],
        alertsOf(part).map(({ alert, labels, for: duration }) => [
          `[${alert}](#${alert.toLowerCase()})`,
          labels.severity,
          duration,
        ]),
      ),
    ]),
  );
}

/**
 * Returns the generated sections of the hand-written pages, by path and by the name in the
 * section's marker.
 */
export function pageSections(): Map<string, Readonly<Record<string, string>>> {
  return new Map([
    ["docs/command-line.md", commandLine()],
    ["docs/monitoring.md", { ...metricsTables(), ...alertTables() }],
    ["docs/operator.md", { flags: programTable("VAULTSYNC", operatorCommand().options) }],
    ["docs/resources.md", resourceFields()],
    ["docs/status.md", { reasons: reasonsTable(), ...clientErrorTables() }],
    ["docs/vault-api.md", { "vault-codes": vaultErrorTable(), ...vaultApi() }],
  ]);
}
