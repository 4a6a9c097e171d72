import type { OpenApiDocument } from "../../protocol/openapi/document.ts";
import type { OperationItem } from "../../protocol/openapi/operation-item.ts";
import { fieldTable } from "./field-table.ts";
import { html, type Html } from "./html.ts";
import { operationArticle } from "./operation-article.ts";
import { fieldsOf, schemaWords } from "./schema-words.ts";

interface Entry {
  readonly path: string;
  readonly item: OperationItem;
}

interface Chapter {
  readonly name: string;
  readonly id: string;
  readonly description: string;
  readonly entries: readonly Entry[];
}

function chapters({ tags, paths }: OpenApiDocument): Chapter[] {
  const all = Object.entries(paths).map(([path, { post }]) => ({ path, item: post }));
  return tags.map(({ name, description }) => ({
    name,
    description,
    id: name.toLowerCase().replaceAll(" ", "-"),
    entries: all.filter(({ item }) => item.tags.includes(name)),
  }));
}

function indexOf(all: readonly Chapter[]): Html {
  return html`<nav aria-label="Operations">
    <ul>
      <li><a href="#start">Start</a></li>
      ${all.map(
        ({ name, id, entries }) =>
          html`<li>
            <a href="#${id}">${name}</a>
            <ul>
              ${entries.map(
                ({ item }) =>
                  html`<li>
                    <a href="#${item.operationId}"><code>${item.operationId}</code></a>
                  </li> `,
              )}
            </ul>
          </li> `,
      )}
      <li><a href="#records">Records</a></li>
    </ul>
  </nav> `;
}

function chapterSection({ name, id, description, entries }: Chapter): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${name}</h2>
    <p>${description}</p>
    ${entries.map(({ path, item }) => operationArticle(path, item))}
  </section> `;
}

function recordsSection({ components }: OpenApiDocument): Html {
  const records = Object.entries(components.schemas).map(([name, schema]) => {
    const fields = fieldsOf(schema);
    return html`<article id="${name}" aria-labelledby="${name}-title">
      <h3 id="${name}-title">${name}</h3>
      ${schema.description === undefined ? undefined : html`<p>${schema.description}</p>`}
      ${fields.length > 0 ? fieldTable(`Fields of ${name}`, fields) : html`<p>${schemaWords(schema)}</p>`}
    </article> `;
  });
  return html`<section aria-labelledby="records">
    <h2 id="records">Records</h2>
    <p>What several answers are made of.</p>
    ${records}
  </section> `;
}

const start = html`<p>
    Log in with <a href="#generate_access_token"><code>generate_access_token</code></a
    >, or copy a token from the <a href="/#/api-token">web application</a>. For the examples below, keep it in a file that only
    you can read, write the body into another, and say where the vault is:
  </p>
  <pre tabindex="0"><code>umask 077
echo "authorization: $(cat token)" &gt; authorization
VAULT=https://vault.example.com</code></pre> `;

/** The document as one page for people: no script, no style of its own. Source: issue 4. */
export function apiPage(document: OpenApiDocument, stylesheet: string): string {
  const { title, version, summary, description } = document.info;
  const all = chapters(document);
  const paragraphs = description.split("\n\n").map((paragraph) => html`<p>${paragraph}</p> `);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}: interface</title>
        <link rel="stylesheet" href="${stylesheet}" />
      </head>
      <body>
        <a class="skip" href="#start">Skip to content</a>
        <header>
          <p><a href="/">${title}</a> <small>${version}</small></p>
          <p><a href="/v1/openapi.json">OpenAPI 3.1</a></p>
        </header>
        <div class="layout">
          ${indexOf(all)}
          <main>
            <section aria-labelledby="start">
              <h1 id="start">Interface</h1>
              <p>${summary}</p>
              ${paragraphs}${start}
            </section>
            ${all.map(chapterSection)}${recordsSection(document)}
          </main>
        </div>
      </body>
    </html> `.text;
}
