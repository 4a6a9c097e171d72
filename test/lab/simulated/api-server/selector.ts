import type { ListOptions } from "../../../../src/operator/kube/client/kube-api.ts";
import { ALL_NAMESPACES, type KubeObject } from "../../../../src/operator/kube/resource.ts";
import { badRequest } from "./status-error.ts";

/**
 * Returns the test of a list or watch. Supports equality, inequality and existence of labels, and
 * equality of some fields.
 */
export function selectorOf({
  namespace,
  labelSelector = "",
  fieldSelector = "",
}: ListOptions): (object: KubeObject) => boolean {
  const labels = terms(labelSelector).map(labelTest);
  const fields = terms(fieldSelector).map(fieldTest);
  return (object) =>
    (namespace === ALL_NAMESPACES || object.metadata.namespace === namespace) &&
    labels.every((test) => test(object)) &&
    fields.every((test) => test(object));
}

const terms = (selector: string): string[] => selector.split(",").filter((term) => term !== "");

function labelTest(term: string): (object: KubeObject) => boolean {
  const [, name = "", operator, value] = /^(!?[^=!]+)(==|!=|=)?(.*)$/.exec(term) ?? [];
  const label = (object: KubeObject): string | undefined =>
    object.metadata.labels?.[name.replace("!", "")];
  if (operator === undefined)
    return (object) => (label(object) === undefined) === name.startsWith("!");
  return (object) => (label(object) === value) === (operator !== "!=");
}

function fieldTest(term: string): (object: KubeObject) => boolean {
  const [, name = "", operator, value] = /^([^=!]+)(==|!=|=)(.*)$/.exec(term) ?? [];
  const field = (object: KubeObject): unknown => {
    if (name === "metadata.name") return object.metadata.name;
    if (name === "metadata.namespace") return object.metadata.namespace;
    if (name === "type") return object["type"];
    throw badRequest();
  };
  return (object) => (field(object) === value) === (operator !== "!=");
}
