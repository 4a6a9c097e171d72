{{/* The labels of every object that only Helm has. They win over the labels of the user. */}}
{{- define "vaultsync.helmLabels" -}}
{{- $own := dict
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version) }}
{{- toYaml (merge $own (omit .Values.labels "app.kubernetes.io/name")) }}
{{- end }}

{{/* The name of an object in the namespace of the release, with that of the values: a dict of root and name. */}}
{{- define "vaultsync.name" -}}
{{- regexReplaceAll "^vaultsync" .name (.root.Values.nameOverride | default "vaultsync") }}
{{- end }}

{{/* The metadata of an object in the namespace of the release: a dict of root and name. */}}
{{- define "vaultsync.metadata" -}}
name: {{ include "vaultsync.name" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  app.kubernetes.io/name: {{ .root.Chart.Name }}
  {{- include "vaultsync.helmLabels" .root | nindent 2 }}
{{- with .root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "vaultsync.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/*
Renders the objects of copied manifests, in the namespace of the release. A dict:
  root       the root context
  files      a glob of paths
  keep       true: the objects outlive the release
  without    kinds that are skipped
  namespace  the namespace of the objects, if the manifest names none
  labels     more labels
*/}}
{{- define "vaultsync.objects" -}}
{{- $options := . }}
{{- $root := .root }}
{{- range $path, $_ := $root.Files.Glob .files }}
{{- $text := $root.Files.Get $path }}
{{- if ne $root.Release.Namespace "vaultsync-system" }}
{{- /* The policies name one ServiceAccount: each release has its own. */}}
{{- $text = $text | replace "vaultsync-system" $root.Release.Namespace | replace "vaultsync-operator-" (printf "vaultsync-%s-" $root.Release.Namespace) }}
{{- end }}
{{- $account := $root.Values.serviceAccount }}
{{- if $account }}
{{- /* The policies have the name of the ServiceAccount in an expression. */}}
{{- $text = $text | replace "'vaultsync'].join(':')" (printf "'%s'].join(':')" $account.name) }}
{{- end }}
{{- range regexSplit "(?m)^---$" $text -1 }}
{{- $object := fromYaml . }}
{{- if and $object (not (has $object.kind ($options.without | default list))) }}
---
{{ include "vaultsync.object" (dict "root" $root "object" $object "keep" $options.keep "namespace" $options.namespace "labels" $options.labels) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Renders one object of a copied manifest, with the labels and annotations of the chart, and in a policy with the types of Secrets that a flag
allows.
*/}}
{{- define "vaultsync.object" -}}
{{- $metadata := .object.metadata }}
{{- $_ := set $metadata "labels" (merge (dict) ($metadata.labels | default dict) (.labels | default dict) (include "vaultsync.helmLabels" .root | fromYaml)) }}
{{- $annotations := merge (dict) ($metadata.annotations | default dict) .root.Values.annotations }}
{{- if .keep }}{{ $_ := set $annotations "helm.sh/resource-policy" "keep" }}{{ end }}
{{- if $annotations }}{{ $_ := set $metadata "annotations" $annotations }}{{ end }}
{{- if $metadata.namespace }}{{ $_ := set $metadata "namespace" .root.Release.Namespace }}{{ end }}
{{- /* Roles and ServiceAccounts are named by others. */}}
{{- if and $metadata.namespace (not (has .object.kind (list "Role" "RoleBinding" "ServiceAccount"))) }}
{{- $_ := set $metadata "name" (include "vaultsync.name" (dict "root" .root "name" $metadata.name)) }}
{{- end }}
{{- if .namespace }}{{ $_ := set $metadata "namespace" ($metadata.namespace | default .namespace) }}{{ end }}
{{- if .object.rules }}{{ $_ := set .object "rules" (include "vaultsync.rules" (dict "root" .root "rules" .object.rules) | fromYamlArray) }}{{ end }}
{{- if .root.Values.serviceAccount }}{{ include "vaultsync.serviceAccount" . }}{{ end }}
{{- if and .root.Values.flags.allowedSecretTypes .object.spec }}
{{- range .object.spec.variables }}
{{- if eq .name "allowedTypes" }}{{ $_ := set . "expression" (printf "%s + %s" .expression (toJson $.root.Values.flags.allowedSecretTypes)) }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml .object }}
{{- end }}

{{/* Sets the name of the ServiceAccount, in the object itself and in what refers to it: a dict of root and object. Renders nothing. */}}
{{- define "vaultsync.serviceAccount" -}}
{{- $account := .root.Values.serviceAccount }}
{{- $object := .object }}
{{- if eq $object.kind "ServiceAccount" }}
{{- $_ := set $object.metadata "name" $account.name }}
{{- $annotations := merge (dict) $account.annotations ($object.metadata.annotations | default dict) }}
{{- if $annotations }}{{ $_ := set $object.metadata "annotations" $annotations }}{{ end }}
{{- end }}
{{- range $object.subjects }}
{{- if and (eq .kind "ServiceAccount") (eq .name "vaultsync") }}{{ $_ := set . "name" $account.name }}{{ end }}
{{- end }}
{{- if eq $object.kind "FlowSchema" }}
{{- range $object.spec.rules }}
{{- range .subjects }}
{{- with .serviceAccount }}{{ $_ := set . "name" $account.name }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Returns RBAC rules without the permissions that the values make unnecessary, and in the role of the operator with those for logins with
ServiceAccounts: a dict of root and rules.
*/}}
{{- define "vaultsync.rules" -}}
{{- $values := .root.Values }}
{{- $rules := list }}
{{- $logins := list }}
{{- range .rules }}
{{- if and (has "secrets" .resources) (not $values.targetWatch) }}
{{- $rules = append $rules (set . "verbs" (without .verbs "list" "watch")) }}
{{- else if or $values.restarts (not (or (has "apps" .apiGroups) (has "argoproj.io" .apiGroups))) }}
{{- $rules = append $rules . }}
{{- end }}
{{- if and $values.serviceAccountLogins (has "vaultsecrets/finalizers" .resources) }}
{{- $logins = list (dict "apiGroups" (list "") "resources" (list "serviceaccounts/token") "resourceNames" $values.serviceAccountLogins "verbs" (list "create")) }}
{{- end }}
{{- end }}
{{- toYaml (concat $rules $logins) }}
{{- end }}

{{/* The values of `flags` as arguments: logLevel: debug is --log-level=debug, a list is joined with commas, true is the flag alone. */}}
{{- define "vaultsync.flags" -}}
{{- range $name, $value := .Values.flags }}
{{- $flag := printf "--%s" (kebabcase $name) }}
{{- if kindIs "slice" $value }}
- {{ printf "%s=%s" $flag (join "," $value) | quote }}
{{- else if kindIs "bool" $value }}
{{- if $value }}
- {{ $flag }}
{{- end }}
{{- else if kindIs "string" $value }}
- {{ printf "%s=%s" $flag $value | quote }}
{{- else }}
- {{ printf "%s=%d" $flag (int64 $value) }}
{{- end }}
{{- end }}
{{- end }}
