import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { NameText } from "../../parts/value-text.tsx";
import { hrefOf } from "../../routing/route.ts";
import { firstView, pathsTo, viewQuery, type Folder, type ListView } from "./list-view.ts";

/** Folders shown before the user asks for the remaining ones. */
const FEW = 12;

function hrefOfView(view: ListView): string {
  return hrefOf({ page: "secrets", query: viewQuery(view) });
}

interface BreadcrumbProps {
  readonly folder: string;
  /** View of the list whose filters the links to folders keep. */
  readonly view?: ListView;
  /** Query of the list for the link to it; all secrets otherwise. */
  readonly query?: string;
}

/** Links to the list, to a folder and to the folders around it. */
export function Breadcrumb({ folder, view = firstView, query = "" }: BreadcrumbProps): VNode {
  const all = hrefOf({ page: "secrets", query });
  return (
    <nav class="crumbs" aria-label="Place">
      <ol>
        <li>
          <a href={all}>
            <Icon name="back" />
            All secrets
          </a>
        </li>
        {pathsTo(folder).map((path) => (
          <li key={path}>
            <a href={hrefOfView({ ...view, folder: path, page: 0 })}>
              <NameText name={path.slice(path.lastIndexOf("/") + 1)} />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

interface FoldersProps {
  readonly folders: readonly Folder[];
  readonly view: ListView;
  /** Some of them are environments: links to their comparison. */
  readonly comparable: boolean;
}

/** The folders in the shown one, with the number of secrets. */
export function Folders({ folders, view, comparable }: FoldersProps): VNode | null {
  const [all, setAll] = useState(false);
  if (folders.length === 0 && !comparable) return null;
  const shown = all ? folders : folders.slice(0, FEW);
  return (
    <nav class="folders" aria-label="Folders">
      <ul>
        {shown.map(({ name, path, count }) => (
          <li key={path}>
            <a href={hrefOfView({ ...view, folder: path, page: 0 })} title={path}>
              <NameText name={name} />
              <span class="quiet">{count}</span>
            </a>
          </li>
        ))}
        {shown.length < folders.length && (
          <li>
            <button class="link-button" type="button" onClick={() => setAll(true)}>
              All {folders.length} folders
            </button>
          </li>
        )}
        {comparable && (
          <li>
            <a class="compare" href={hrefOfView({ ...view, compared: true, page: 0 })}>
              Compare environments
            </a>
          </li>
        )}
      </ul>
    </nav>
  );
}
