import { expect, test } from "vitest";
import { syncItem } from "../../../test/lab/kube/sync-resource.ts";
import { madeBy, withForms } from "./item-form.ts";
import type { SyncItem, TargetTemplate } from "./sync-resource.ts";

const formsOf = (items: readonly SyncItem[], template?: TargetTemplate) =>
  withForms({ items, finds: [] }, template).items.map(({ form }) => form);
const object = syncItem("dataFrom[0]", { isExtracted: true });

test("an item without property and decoding has no form, as in earlier releases", () => {
  expect(formsOf([syncItem("a"), syncItem("b", { version: 3, owner: "x@example.com" })])).toEqual([
    undefined,
    undefined,
  ]);
});

test("the form of an item changes with property and decoding, and with nothing else", () => {
  const items = [
    syncItem("a", { property: "/a" }),
    syncItem("a", { property: "/b" }),
    syncItem("a", { decoding: "Base64" }),
    syncItem("a", { decoding: "Base64URL" }),
    syncItem("a", { property: "/a", decoding: "Base64" }),
  ];
  expect(new Set(formsOf(items)).size).toBe(items.length);
  expect(formsOf([syncItem("z", { source: "other", version: 2, property: "/a" })])).toEqual(
    formsOf([syncItem("a", { property: "/a" })]),
  );
});

test("all items of a computed content have one form, which changes with each instruction", () => {
  const [form, same] = formsOf([syncItem("a"), object]);
  expect(form).toEqual(expect.any(String));
  expect(same).toEqual(form);
  const others = [
    formsOf([syncItem("b"), object])[0],
    formsOf([syncItem("a", { property: "/a" }), object])[0],
    formsOf([syncItem("a"), object, { ...object, id: "dataFrom[1]" }])[0],
    formsOf([syncItem("a"), object, syncItem("c")])[0],
    formsOf([syncItem("a"), object, syncItem("c", { isExtracted: true })])[0],
    formsOf([syncItem("a"), object], { data: { a: "{{ a }}" } })[0],
    formsOf([syncItem("a"), object], { data: { b: "{{ a }}" } })[0],
    formsOf([syncItem("a")], { data: { a: "{{ a }}" } })[0],
  ];
  expect(new Set([form, ...others]).size).toBe(others.length + 1);
});

/**
 * A value of each field that says how the content is made. The compiler asks for each new field of
 * an item.
 */
const instructions: {
  readonly [field in keyof Required<SyncItem>]: SyncItem[field] | "no instruction";
} = {
  id: "no instruction",
  source: "no instruction",
  owner: "no instruction",
  version: "no instruction",
  property: "/user",
  decoding: "Base64",
  isExtracted: true,
  rewrite: [{ source: "^a", target: "b" }],
  foundBy: "no instruction",
  isOptional: "no instruction",
  contract: { minLength: 1 },
  form: "no instruction",
};

test.each(Object.entries(instructions).filter(([, value]) => value !== "no instruction"))(
  "the form of an item changes with %s",
  (field, value) => {
    const before = field === "rewrite" ? object : syncItem("a");
    expect(formsOf([{ ...before, [field]: value }])).not.toEqual(formsOf([before]));
  },
);

test("forms of one instruction with several rules differ, and say that they make the same", () => {
  const plain = syncItem("a");
  const decoded = syncItem("a", { decoding: "Base64" });
  for (const items of [[plain], [decoded], [plain, object]]) {
    const [first, ...others] = items;
    const ruled = (minLength: number) =>
      formsOf([{ ...first!, contract: { minLength } }, ...others])[0];
    const forms = [formsOf(items)[0], ruled(1), ruled(2)];
    expect(new Set(forms).size).toBe(3);
    expect(new Set(forms.map(madeBy)).size).toBe(1);
  }
  expect(madeBy(formsOf([plain])[0])).not.toBe(madeBy(formsOf([decoded])[0]));
});

test("the form of an item does not depend on the rules of other items of other keys", () => {
  const ruled = syncItem("b", { contract: { notEmpty: true } });
  expect(formsOf([syncItem("a"), ruled])[0]).toBeUndefined();
  expect(formsOf([ruled])[0]).toBe(formsOf([syncItem("a"), ruled])[1]);
});
