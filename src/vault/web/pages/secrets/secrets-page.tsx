import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Empty } from "../../parts/notes.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Lazy, LoadedView } from "../../parts/loaded-view.tsx";
import { TrashLink } from "../deletion/trash-parts.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { Pager, shownPage } from "../../parts/pager.tsx";
import { savedScroll, useListScroll, useReturn } from "../../parts/scroll-position.ts";
import { hrefOf } from "../../routing/route.ts";
import { writeQuery } from "../../routing/use-route.ts";
import { useClient } from "../../session/client-context.ts";
import { environmentsIn } from "./environments.ts";
import { ListToolbar, OrderField } from "./list-toolbar.tsx";
import {
  foldersIn,
  metadataChoices,
  selectSecrets,
  type ListView,
  type Order,
  PAGE_SIZE,
  parseView,
  viewQuery,
} from "./list-view.ts";
import { Breadcrumb, Folders } from "./places.tsx";
import { browserClock } from "../../service/browser-clock.ts";
import { useSecrets } from "./secrets-context.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { useSelection, secretId, type Selection } from "./use-selection.ts";
import { DataTable, type Column } from "../../parts/data-table.tsx";
import { SecretRow } from "./secret-row.tsx";
import { markSeen, newShares } from "./kept-digests.ts";

/** The columns; those with an order sort the list. */
const columns: readonly (Column & { readonly order?: Order; readonly newestFirst?: true })[] = [
  { name: "select", title: "Selection", hidden: true },
  { name: "name", title: "Name", order: "name" },
  { name: "description", title: "Description" },
  { name: "access", title: "Access", order: "owner" },
  { name: "chips", title: "Metadata" },
  { name: "updated", title: "Updated", order: "updated", newestFirst: true },
  { name: "deadline", title: "Expires", order: "expires" },
  { name: "actions", title: "Value", hidden: true },
];

interface SecretsTableProps {
  readonly secrets: readonly SecretRecord[];
  readonly selection: Selection;
  readonly view: ListView;
  /** Ids of the received secrets that the user has not looked at. */
  readonly fresh: ReadonlySet<string>;
}

/** Returns the columns with their direction and what sorts by them. */
function sortable(view: ListView): readonly Column[] {
  return columns.map(({ order, newestFirst = false, ...column }): Column => {
    if (!order) return column;
    const isSorted = order === view.order;
    const direction = view.reversed === newestFirst ? "ascending" : "descending";
    const onSort = (): void =>
      show({ ...view, page: 0, order, reversed: isSorted && !view.reversed });
    return { ...column, sorted: isSorted ? direction : undefined, onSort };
  });
}

/** A page of the list. */
function SecretsTable({ secrets, selection, view, fresh }: SecretsTableProps): VNode {
  const heads = useMemo(() => sortable(view), [view]);
  return (
    <DataTable name="secrets-table" caption="Secrets you can access" columns={heads}>
      {secrets.map((secret) => (
        <SecretRow
          key={secretId(secret)}
          secret={secret}
          isNew={fresh.has(secretId(secret))}
          selected={selection.has(secret)}
          onSelect={(selected) => selection.set([secret], selected)}
        />
      ))}
    </DataTable>
  );
}

function NewSecretLink(): VNode {
  return (
    <a class="button primary" href={hrefOf({ page: "new-secret" })}>
      <Icon name="plus" />
      New secret
    </a>
  );
}

function NoSecrets(): VNode {
  return (
    <Empty icon="key" title="No secrets yet">
      <p>
        Store passwords, keys and connection strings. Only you can access your secrets until you
        share them. Secrets that others share with you appear here too.
      </p>
      <NewSecretLink />
    </Empty>
  );
}

/** Rows that fill a window: the first ones to show. */
const FIRST_ROWS = 15;

/**
 * Returns how many rows of a page to show. The remaining ones follow once the first are painted,
 * unless the user returns to where the list was scrolled to.
 */
function useShownRows(): number {
  const [all, setAll] = useState(savedScroll() !== undefined);
  useEffect(() => setAll(true), []);
  return all ? PAGE_SIZE : FIRST_ROWS;
}

/** Writes a view into the address, from where the page reads it. */
function show(view: ListView, push = false): void {
  writeQuery({ page: "secrets", query: viewQuery(view) }, push);
}

interface ListPagesProps {
  readonly secrets: readonly SecretRecord[];
  readonly matching: readonly SecretRecord[];
  readonly view: ListView;
}

/** The matching secrets, page by page. */
function ListPages({ secrets, matching, view }: ListPagesProps): VNode {
  const { email } = useClient();
  const { list } = useSecrets();
  const [looked, setLooked] = useState(0);
  const fresh = useMemo(() => newShares(email, secrets), [email, secrets, looked]);
  const see = (): void => {
    markSeen(email, secrets, secrets);
    setLooked(looked + 1);
  };
  const selection = useSelection(secrets);
  const page = shownPage(view.page, matching.length, PAGE_SIZE);
  const listRef = useListScroll(page);
  const shown = matching.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
  const rows = useShownRows();
  return (
    <>
      {fresh.size > 0 && (
        <p class="fresh">
          <span class="badge own">{fresh.size} new</span> shared with you
          <button class="link-button" type="button" onClick={see}>
            Mark as seen
          </button>
        </p>
      )}
      {matching.length > 0 && (
        <section ref={listRef} class="list" tabIndex={-1} aria-label="List of secrets">
          <SelectionBar
            page={shown}
            matching={matching}
            selection={selection}
            onChange={list.reload}
          >
            <OrderField view={view} onView={show} />
          </SelectionBar>
          <SecretsTable
            secrets={shown.slice(0, rows)}
            selection={selection}
            view={view}
            fresh={fresh}
          />
        </section>
      )}
      <Pager
        page={page}
        pageSize={PAGE_SIZE}
        total={matching.length}
        onPage={(next) => show({ ...view, page: next }, true)}
      />
    </>
  );
}

function NoMatches(): VNode {
  return (
    <Empty icon="search" title="No matches">
      <p>
        No secret matches this search and these filters. The search covers names, owners and
        metadata.
      </p>
      <a href={hrefOf({ page: "secrets" })}>Show all secrets</a>
    </Empty>
  );
}

const loadMatrix = async () => (await import("./matrix.tsx")).Matrix;

interface SecretListProps {
  readonly secrets: readonly SecretRecord[];
  readonly view: ListView;
}

function SecretList({ secrets, view }: SecretListProps): VNode {
  const { email } = useClient();
  const { folder } = view;
  const choices = useMemo(() => metadataChoices(secrets, "environment_type"), [secrets]);
  const environments = useMemo(() => environmentsIn(secrets, folder), [secrets, folder]);
  const matching = useMemo(
    () => selectSecrets(secrets, view, email, browserClock.now()),
    [secrets, view, email],
  );
  const folders = useMemo(() => foldersIn(matching, folder), [matching, folder]);
  const comparable = environments.length > 0;
  const compared = comparable && view.compared;
  return (
    <>
      {folder !== "" && <Breadcrumb folder={folder} view={view} />}
      <ListToolbar view={view} environments={choices} onView={show} />
      {!compared && <Folders key={folder} folders={folders} view={view} comparable={comparable} />}
      {matching.length === 0 && <NoMatches />}
      {compared ? (
        <Lazy load={loadMatrix} props={{ secrets, matching, environments, view, onView: show }} />
      ) : (
        <ListPages secrets={secrets} matching={matching} view={view} />
      )}
    </>
  );
}

/**
 * List of the user's own and received secrets, reloaded on each visit and on return to the tab.
 * `query` is its state in the address.
 */
export function SecretsPage({ query }: { readonly query: string }): VNode {
  const { list, listQuery } = useSecrets();
  const { reload } = list;
  const view = useMemo(() => parseView(query), [query]);
  const { current: isFirst } = useRef(list.loaded.kind === "loading");
  useEffect(() => {
    if (!isFirst) void reload();
  }, [isFirst, reload]);
  useReturn(useCallback(() => void reload(), [reload]));
  useEffect(() => void (listQuery.current = query), [listQuery, query]);
  return (
    <>
      <PageHeading title="Secrets">
        <div class="buttons">
          <TrashLink />
          <NewSecretLink />
        </div>
      </PageHeading>
      <LoadedView of={list} what="your secrets">
        {(secrets) =>
          secrets.length === 0 ? <NoSecrets /> : <SecretList secrets={secrets} view={view} />
        }
      </LoadedView>
    </>
  );
}
