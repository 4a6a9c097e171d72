import type { ListOptions } from "../../../../src/operator/kube/client/kube-api.ts";
import { ALL_NAMESPACES, type KubeObject } from "../../../../src/operator/kube/resource.ts";
import { badRequest } from "./status-error.ts";

type Test = (object: KubeObject) => boolean;

/** The tests of the selectors that were used, by their text: they are few. */
const labelTests = new Map<string, readonly Test[]>();
const fieldTests = new Map<string, readonly Test[]>();

/**
 * Returns the test of a list or watch. Supports equality, inequality and existence of labels, and
 * equality of some fields.
 */
export function selectorOf({
  namespace,
  labelSelector = "",
  fieldSelector = "",
}: ListOptions): Test {
  const labels = testsOf(labelSelector, labelTests, labelTest);
  const fields = testsOf(fieldSelector, fieldTests, fieldTest);
  return (object) =>
    (namespace === ALL_NAMESPACES || object.metadata.namespace === namespace) &&
    labels.every((test) => test(object)) &&
    fields.every((test) => test(object));
}

function testsOf(
  selector: string,
  known: Map<string, readonly Test[]>,
  testOf: (term: string) => Test,
): readonly Test[] {
  let tests = known.get(selector);
  if (!tests) {
    const terms = selector.split(",").filter((term) => term !== "");
    known.set(selector, (tests = terms.map(testOf)));
  }
  return tests;
}

function labelTest(term: string): Test {
  const [, name = "", operator, value] = /^(!?[^=!]+)(==|!=|=)?(.*)$/.exec(term) ?? [];
  const labelName = name.replace("!", "");
  const label = (object: KubeObject): string | undefined => object.metadata.labels?.[labelName];
  if (operator === undefined)
    return (object) => (label(object) === undefined) === name.startsWith("!");
  return (object) => (label(object) === value) === (operator !== "!=");
}

function fieldTest(term: string): Test {
  const [, name = "", operator, value] = /^([^=!]+)(==|!=|=)(.*)$/.exec(term) ?? [];
  const field = (object: KubeObject): unknown => {
    if (name === "metadata.name") return object.metadata.name;
    if (name === "metadata.namespace") return object.metadata.namespace;
    if (name === "type") return object["type"];
    throw badRequest();
  };
  return (object) => (field(object) === value) === (operator !== "!=");
}
