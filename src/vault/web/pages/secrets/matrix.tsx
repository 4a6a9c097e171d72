import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { Pager, shownPage } from "../../parts/pager.tsx";
import { useListScroll } from "../../parts/scroll-position.ts";
import { NameText, Timestamp } from "../../parts/value-text.tsx";
import { hrefOf } from "../../routing/route.ts";
import { useClient } from "../../session/client-context.ts";
import { compareEnvironments, hasGap, startOf, type ComparedName } from "./environments.ts";
import { frequentMetadata, PAGE_SIZE, viewQuery, wantedQuery, type ListView } from "./list-view.ts";

/** Name of a secret for screen readers: its column and its row are not next to it. */
function Hidden({ text }: { readonly text: string }): VNode {
  return <span class="visually-hidden">{text}</span>;
}

/** Version and age of a secret, with its owner unless it is the user. */
function Present({ secret }: { readonly secret: SecretRecord }): VNode {
  const { email } = useClient();
  const { key_name: name, key_version: version, owner, updated_at: at, expired } = secret;
  return (
    <a href={hrefOf({ page: "secret", owner, name })}>
      <Hidden text={name} />
      <strong>v{version}</strong> <Timestamp at={at} short />
      {owner !== email && <span class="quiet break"> {owner}</span>}
      {expired && <span class="badge bad">Expired</span>}
    </a>
  );
}

/** Starts the new secret that an environment lacks. */
function Missing({ name, environment }: Record<"name" | "environment", string>): VNode {
  const query = wantedQuery(name, environment);
  return (
    <a class="missing" href={hrefOf({ page: "new-secret", query })}>
      <Icon name="plus" />
      Missing
      <Hidden text={name} />
    </a>
  );
}

/** Scrolls to a whole cell: the browser is content with a part of it. */
function showFocused({ target }: Event): void {
  if (target instanceof Element) target.scrollIntoView({ block: "nearest", inline: "nearest" });
}

interface Column {
  /** Name of the folder. */
  readonly folder: string;
  /** Start of its names. */
  readonly start: string;
  /** Environment of most of its secrets, and of the next one. */
  readonly environment: string;
  /** Number of names it lacks. */
  readonly gaps: number;
}

function MatrixTable({
  columns,
  rows,
}: {
  readonly columns: readonly Column[];
  readonly rows: readonly ComparedName[];
}): VNode {
  return (
    <table class="matrix" onFocusIn={showFocused}>
      <caption class="visually-hidden">Names by environment</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          {columns.map(({ folder, gaps }) => (
            <th key={folder} scope="col">
              <NameText name={folder} />
              {gaps > 0 && <span class="quiet"> {gaps} missing</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, cells }) => (
          <tr key={name}>
            <th scope="row">
              <NameText name={name} />
            </th>
            {columns.map(({ folder, start, environment }, at) => (
              <td key={folder}>
                {cells[at]?.map((secret) => (
                  <Present key={secret.owner} secret={secret} />
                ))}
                {cells[at]?.length === 0 && (
                  <Missing name={start + name} environment={environment} />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export interface MatrixProps {
  readonly secrets: readonly SecretRecord[];
  /** Those that pass search and filters: their names are shown, with all environments. */
  readonly matching: readonly SecretRecord[];
  readonly environments: readonly string[];
  readonly view: ListView;
  /** Shows another view; `push` adds it to the history. */
  readonly onView: (view: ListView, push?: boolean) => void;
}

/** Names in the columns of the environments that have them, with a mark where one lacks a name. */
export function Matrix({ secrets, matching, environments, view, onView }: MatrixProps): VNode {
  const { folder, gaps } = view;
  const rows = useMemo(
    () => compareEnvironments(secrets, folder, environments),
    [secrets, folder, environments],
  );
  const columns = useMemo(
    () =>
      environments.map((name, at): Column => {
        const own = rows.flatMap(({ cells }) => cells[at] ?? []);
        return {
          folder: name,
          start: startOf(folder, name),
          environment: frequentMetadata(own, "environment_type")[0] ?? "",
          gaps: rows.filter(({ cells }) => cells[at]?.length === 0).length,
        };
      }),
    [rows, folder, environments],
  );
  const found = useMemo(() => new Set(matching), [matching]);
  const wanted = rows.filter(
    (row) =>
      (!gaps || hasGap(row)) && row.cells.some((cell) => cell.some((each) => found.has(each))),
  );
  const page = shownPage(view.page, wanted.length, PAGE_SIZE);
  const listRef = useListScroll(page);
  const lacking = wanted.filter(hasGap).length;
  const list = hrefOf({ page: "secrets", query: viewQuery({ ...view, compared: false, page: 0 }) });
  return (
    <section ref={listRef} class="list stack" tabIndex={-1} aria-label="Environments">
      <div class="matrix-bar">
        <p role="status">
          {wanted.length} {wanted.length === 1 ? "name" : "names"}, {lacking} of them missing in an
          environment
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={gaps}
            onChange={() => onView({ ...view, gaps: !gaps, page: 0 })}
          />
          Only missing ones
        </label>
        <a href={list}>Show as a list</a>
      </div>
      <div class="matrix-scroll">
        <MatrixTable
          columns={columns}
          rows={wanted.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE)}
        />
      </div>
      <Pager
        page={page}
        pageSize={PAGE_SIZE}
        total={wanted.length}
        onPage={(next) => onView({ ...view, page: next }, true)}
      />
    </section>
  );
}
