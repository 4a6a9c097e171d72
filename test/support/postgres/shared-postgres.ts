import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { openPostgresStore } from "../../../src/vault-server/store/postgres/postgres-store.ts";
import { PostgresCluster } from "./postgres-cluster.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where tests make databases: a URL of the server, and the name of a database that holds the schema and nothing else. */
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
 * Vitest's global setup: one PostgreSQL for all tests of a run, from npm packages alone. VAULTSYNC_TEST_POSTGRES=postgres://… takes a
 * server that is there instead, with a user who may create databases.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using starting = new AsyncDisposableStack();
  const given = process.env["VAULTSYNC_TEST_POSTGRES"];
  const url = given ?? starting.use(await PostgresCluster.start()).url();
  const template = `vaultsync_template_${process.pid}`;
  // Its own order is a language's, so that what is by code point is so because the tables say it.
  const language = "LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'";
  await withAdmin(url, `CREATE DATABASE ${template} TEMPLATE template0 ENCODING 'UTF8' ${language}`);
  starting.defer(() => withAdmin(url, `DROP DATABASE ${template} WITH (FORCE)`));
  const templateUrl = new URL(url);
  templateUrl.pathname = `/${template}`;
  await (await openPostgresStore(templateUrl.href))[Symbol.asyncDispose]();
  project.provide("postgres", { url, template });
  const running = starting.move();
  return () => running.disposeAsync();
}
