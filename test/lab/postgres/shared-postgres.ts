import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { PostgresContainer } from "./postgres-container.ts";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Server for test databases: its URL, and the name of a template database with the schema only.
     */
    postgres: { readonly url: string; readonly template: string };
  }
}

async function withAdmin(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/**
 * Starts the server of all tests, in a container or else from npm packages, and says which. Returns
 * its URL.
 */
async function startServer(owned: AsyncDisposableStack): Promise<string> {
  const container = await PostgresContainer.start();
  if ("unavailable" in container) {
    process.stderr.write(
      `PostgreSQL from npm packages, not in a container: ${container.unavailable}\n`,
    );
    return owned.use(await PostgresCluster.start()).url();
  }
  process.stderr.write(`PostgreSQL in a container of ${container.image}\n`);
  return owned.use(container).url;
}

/**
 * Global set-up of Vitest: starts one PostgreSQL server for all tests of a run.
 * VAULTSYNC_TEST_POSTGRES=postgres://… selects an existing server instead; its user must be allowed
 * to create databases.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using starting = new AsyncDisposableStack();
  const given = process.env["VAULTSYNC_TEST_POSTGRES"];
  const url = given ?? (await startServer(starting));
  const template = `vaultsync_template_${process.pid}`;
  // The database sorts by a language: code point order can only come from the tables.
  const language = "LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'";
  await withAdmin(
    url,
    `CREATE DATABASE ${template} TEMPLATE template0 ENCODING 'UTF8' ${language}`,
  );
  starting.defer(() => withAdmin(url, `DROP DATABASE ${template} WITH (FORCE)`));
  const templateUrl = new URL(url);
  templateUrl.pathname = `/${template}`;
  await (await openPostgresStore(templateUrl.href))[Symbol.asyncDispose]();
  project.provide("postgres", { url, template });
  const running = starting.move();
  return () => running.disposeAsync();
}
