import { randomUUID } from "node:crypto";
import { Client, type QueryResult } from "pg";
import { inject } from "vitest";
import { columnTypes } from "../../../src/vault/server/store/postgres/postgres-connection.ts";

/** Runs one statement on a new connection. */
export async function onDatabase(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<QueryResult> {
  const client = new Client({ connectionString: url, types: columnTypes });
  await client.connect();
  try {
    return await client.query(sql, [...values]);
  } finally {
    await client.end();
  }
}

/**
 * A new database, with the schema or empty, dropped when disposed; only in the project `postgres`.
 */
export class PostgresDatabase implements AsyncDisposable {
  readonly url: string;
  readonly #server: string;
  readonly #name: string;

  private constructor(server: string, name: string) {
    const url = new URL(server);
    url.pathname = `/${name}`;
    this.url = url.href;
    this.#server = server;
    this.#name = name;
  }

  static async create({
    empty = false,
    server = inject("postgres").url,
  } = {}): Promise<PostgresDatabase> {
    const name = `vaultsync_${randomUUID().replaceAll("-", "")}`;
    const template = empty ? "template0 ENCODING 'UTF8'" : inject("postgres").template;
    await onDatabase(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
    return new PostgresDatabase(server, name);
  }

  run(sql: string, ...values: readonly unknown[]): Promise<QueryResult> {
    return onDatabase(this.url, sql, values);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await onDatabase(this.#server, `DROP DATABASE IF EXISTS ${this.#name} WITH (FORCE)`);
  }
}
