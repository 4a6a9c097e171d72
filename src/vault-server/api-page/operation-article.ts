import { errorStatus } from "../../protocol/error-codes.ts";
import { errorsOf, type OperationItem } from "../../protocol/openapi/operation-item.ts";
import { fieldTable, scrollingTable } from "./field-table.ts";
import { html, type Html } from "./html.ts";
import { fieldsOf } from "./schema-words.ts";

function block(label: string, text: string): Html {
  return html`<figure>
    <figcaption>${label}</figcaption>
    <pre tabindex="0"><code>${text}</code></pre>
  </figure> `;
}

function jsonBlock(label: string, example: unknown): Html | undefined {
  return example === undefined ? undefined : block(label, JSON.stringify(example, undefined, 2));
}

/** The operation from a shell; tokens and bodies come from files, so that no other user of the machine sees them. */
function curl(path: string, { operationId, security }: OperationItem): string {
  const token = security.length > 0 ? ["--header @authorization"] : [];
  const body =
    operationId === "protect_file"
      ? ["--header 'email: ann@example.com'", "--header 'CountOfFiles: 1'", "--form 'file=@hello.txt'"]
      : ["--header 'content-type: application/json'", "--data @request.json"];
  const output = operationId === "download_file" ? ["--output hello.txt"] : [];
  return ["curl", ...token, ...body, ...output, `"$VAULT${path}"`].join(" \\\n  ");
}

function errorTable({ operationId, summary }: OperationItem): Html {
  const rows = Map.groupBy(errorsOf(operationId), (code) => errorStatus[code]);
  return scrollingTable(
    `Errors of ${summary}`,
    ["Status", "Code"],
    [...rows]
      .sort(([a], [b]) => a - b)
      .map(
        ([status, codes]) =>
          html`<tr>
            <th scope="row">${status}</th>
            <td>${codes.map((code, index) => html`${index === 0 ? "" : ", "}<code>${code}</code>`)}</td>
          </tr> `,
      ),
  );
}

function requestPart(item: OperationItem): Html {
  const { parameters = [], requestBody, summary } = item;
  const [[type, media] = ["", undefined]] = Object.entries(requestBody.content);
  const headers = parameters.map(({ name, required, schema, description }) => ({
    name,
    required,
    schema: { ...schema, description },
  }));
  return html`<h4>Request <small>${type}</small></h4>
    ${
      headers.length > 0
        ? html`<p>Headers:</p>
            ${fieldTable(`Headers of ${summary}`, headers)}`
        : undefined
    }
    ${
      media &&
      html`<p>Body:</p>
        ${fieldTable(`Fields of ${summary}`, fieldsOf(media.schema))}`
    }
    ${jsonBlock("request.json", media?.example)}`;
}

function answerPart({ responses, summary }: OperationItem): Html {
  const [[type, media] = ["", undefined]] = Object.entries(responses[200]?.content ?? {});
  const fields = media ? fieldsOf(media.schema) : [];
  const reference = media?.schema.$ref;
  const named = reference?.slice(reference.lastIndexOf("/") + 1);
  return html`<h4>Answer <small>${type}</small></h4>
    ${named !== undefined ? html`<p>See <a href="#${named}">${named}</a>.</p>` : undefined}
    ${fields.length > 0 ? fieldTable(`Answer of ${summary}`, fields) : undefined}
    ${type === "application/octet-stream" ? html`<p>The bytes, with <code>etag</code> and <code>x-file-version</code>.</p>` : undefined}
    ${"304" in responses ? html`<p>With <code>if-none-match</code> of what the client has: 304 without a body.</p>` : undefined}
    ${jsonBlock("Example", media?.example)}`;
}

/** All of one operation. */
export function operationArticle(path: string, item: OperationItem): Html {
  return html`<article id="${item.operationId}" aria-labelledby="${item.operationId}-title">
    <h3 id="${item.operationId}-title"><a href="#${item.operationId}">${item.summary}</a></h3>
    <p class="path"><span>POST</span> <code>${path}</code></p>
    <p>${item.description}</p>
    ${item.security.length > 0 ? undefined : html`<p>Needs no access token.</p>`} ${requestPart(item)} ${answerPart(item)}
    <h4>Errors</h4>
    ${errorTable(item)} ${block("From a shell", curl(path, item))}
  </article> `;
}
