/** Labels of the standard names of metadata. */
const labels: Readonly<Record<string, string>> = {
  description: "Description",
  environment_type: "Environment",
  classification: "Classification",
  cloud_type: "Cloud",
  application_type: "Application",
  expiration_time: "Expires after",
};

/** Returns the pages' own word for a metadata name; custom names are their own. */
export function metadataLabel(name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] ?? name) : name;
}
