import { describe, expect, test } from "vitest";
import { listedSecret as secret } from "../../../../../test/lab/vault/listed-secret.ts";
import {
  firstView,
  foldersIn,
  metadataChoices,
  pathsTo,
  selectSecrets,
  type ListView,
  parseView,
  viewQuery,
} from "./list-view.ts";

const me = "ann@example.com";
const NOW = Date.parse("2026-11-20T10:00:00.000Z");

const list = [
  secret("shop-db", { metadata: { environment_type: "prod", team: { colour: "Blue" } } }),
  secret("api-key", { shared: true, updated_at: "2026-11-21T10:00:00.000Z" }),
  secret("mail", { owner: "bob@example.com", shared: true, permission: "R", expires_at: 9e15 }),
];

function names(view: Partial<ListView>): string[] {
  return selectSecrets(list, { ...firstView, ...view }, me, NOW).map(({ key_name }) => key_name);
}

describe("the list of secrets", () => {
  test("is sorted by name at first", () => {
    expect(names({})).toEqual(["api-key", "mail", "shop-db"]);
  });

  test.each<[ListView["kind"], string[]]>([
    ["own", ["api-key", "shop-db"]],
    ["received", ["mail"]],
    ["given", ["api-key"]],
  ])("can be narrowed to %s", (kind, expected) => {
    expect(names({ kind })).toEqual(expected);
  });

  test.each([
    ["DB", ["shop-db"]],
    ["BLUÉ", ["shop-db"]],
    ["bob@", ["mail"]],
    ["environment_type:dev", ["api-key", "mail"]],
    ["blue prod", ["shop-db"]],
    ["blue dev", []],
    ["  ", ["api-key", "mail", "shop-db"]],
  ])("searched for %j shows what has each of the words", (search, expected) => {
    expect(names({ search })).toEqual(expected);
  });

  test.each<[ListView["order"], string[]]>([
    ["updated", ["api-key", "shop-db", "mail"]],
    ["expires", ["shop-db", "api-key", "mail"]],
    ["owner", ["shop-db", "api-key", "mail"]],
  ])("sorts by %s", (order, expected) => {
    expect(names({ order })).toEqual(expected);
  });

  test("can be narrowed to an environment, and to a folder with the folders in it", () => {
    const inFolders = ["prod/checkout/db", "prod/checkout/eu/db", "prod/db", "product"].map(
      (name) => secret(name),
    );
    const within = (folder: string) =>
      selectSecrets(inFolders, { ...firstView, folder }, me, NOW).map(({ key_name }) => key_name);
    expect(names({ environment: "prod" })).toEqual(["shop-db"]);
    expect(within("prod")).toEqual(["prod/checkout/db", "prod/checkout/eu/db", "prod/db"]);
    expect(within("prod/checkout")).toEqual(["prod/checkout/db", "prod/checkout/eu/db"]);
    expect(metadataChoices(list, "environment_type")).toEqual(["dev", "prod"]);
    expect(foldersIn(inFolders, "")).toEqual([{ name: "prod", path: "prod", count: 3 }]);
    expect(foldersIn(inFolders, "prod")).toEqual([
      { name: "checkout", path: "prod/checkout", count: 2 },
    ]);
    expect(foldersIn(inFolders, "prod/checkout/eu")).toEqual([]);
    expect(pathsTo("prod/checkout")).toEqual(["prod", "prod/checkout"]);
  });

  test("shows no folder without a name, and at most 200, those with the most secrets", () => {
    const received = Array.from({ length: 1_000 }, (_, index) => secret(`${index}/a/a/a/x`));
    const folders = foldersIn(
      [...received, secret("own/one"), secret("own/two"), secret("/x")],
      "",
    );
    expect(folders.length).toBe(200);
    expect(folders).toContainEqual({ name: "own", path: "own", count: 2 });
  });

  test("can be reversed, and narrowed to what has expired or expires in 14 days", () => {
    const expiring = [
      secret("past", { expired: true, expires_at: "2026-11-19T10:00:00.000Z" }),
      secret("soon", { expires_at: "2026-12-04T10:00:00.000Z" }),
      secret("later", { expires_at: "2026-12-04T10:00:00.001Z" }),
    ];
    const having = (view: Partial<ListView>) =>
      selectSecrets(expiring, { ...firstView, ...view }, me, NOW).map(({ key_name }) => key_name);
    expect(having({ expiry: "expired" })).toEqual(["past"]);
    expect(having({ expiry: "soon" })).toEqual(["soon"]);
    expect(having({ order: "expires", reversed: true })).toEqual(["later", "soon", "past"]);
  });
});

test.each<Partial<ListView>>([
  {},
  { search: "a&b=c 50 % #", kind: "given", order: "expires", page: 3 },
  { environment: "prod", folder: "prod/check out", expiry: "soon", reversed: true },
])("the view %j is restored from its address", (changes) => {
  const view = { ...firstView, ...changes };
  expect(parseView(viewQuery(view))).toEqual(view);
});

test("the first view needs no query", () => {
  expect(viewQuery(firstView)).toBe("");
});

test.each([
  "kind=theirs&order=size&page=-1&expiry=now&reversed=no",
  "page=1.5",
  "page=x",
  "unknown=1",
])("of %s only what is valid counts", (query) => {
  expect(parseView(query)).toEqual(firstView);
});
