{{/*
fairlead.take is a file that kustomize deploys too, as the release's own: in its namespace, under its
names, with its labels and the service account that it runs as. What is generated or long is written
once, in config/, and copied into files/ by `make generate`.

  {{ include "fairlead.take" (dict "root" . "file" "rbac/operator.yaml" "labels" dict) }}

With "within", the name of a namespace, its roles are bound there and nowhere else.
*/}}
{{- define "fairlead.take" -}}
{{- $name := include "fairlead.name" .root -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $account := include "fairlead.account" .root -}}
{{- $text := .root.Files.Get (printf "files/%s" .file) | required (printf "files/%s is missing: run `make generate`" .file) -}}
{{- $text = $text | replace "fairlead-system" $namespace -}}
{{- with .root.Values.namespace }}{{ $text = $text | replace "[served]" (printf "[%s]" .) }}{{ end -}}
{{- $labels := merge (dict) .labels (include "fairlead.labels" .root | fromYaml) -}}
{{- range regexSplit "(?m)^---$" $text -1 }}
{{- $object := fromYaml . }}
{{- $meta := $object.metadata }}
{{- $_ := set $meta "name" (printf "%s%s" $name (trimPrefix "fairlead" $meta.name)) }}
{{- $_ := set $meta "labels" (merge (dict) $labels ($meta.labels | default dict)) }}
{{- if and $.within (eq $object.kind "ClusterRoleBinding") }}
{{- $_ := set $object "kind" "RoleBinding" }}
{{- $_ := set $meta "namespace" $.within }}
{{- end }}
{{- with $object.roleRef }}
{{- $_ := set . "name" (printf "%s%s" $name (trimPrefix "fairlead" .name)) }}
{{- end }}
{{- range $object.subjects }}
{{- $_ := set . "name" $account }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
