{{/*
What everything of a release is called, and the labels that tell it from others.
*/}}

{{- define "fairlead.name" -}}
{{- .Values.fullnameOverride | default (contains "fairlead" .Release.Name | ternary .Release.Name (printf "%s-fairlead" .Release.Name)) | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "fairlead.account" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "fairlead.name" .) "default") -}}
{{- end }}

{{- define "fairlead.selector" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/component: operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fairlead.labels" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The same, of what belongs to the operator's process. */}}
{{- define "fairlead.operatorLabels" -}}
{{ include "fairlead.labels" . }}
app.kubernetes.io/component: operator
{{- end }}

{{/* Whether the operator reaches the metadata of its instance: allow or deny. */}}
{{- define "fairlead.metadata" -}}
{{- $say := .Values.networkPolicy.instanceMetadata | default "auto" -}}
{{- if ne $say "auto" -}}
{{- $say -}}
{{- else if and .Values.serviceAccount.create (index .Values.serviceAccount.annotations "eks.amazonaws.com/role-arn") -}}
deny
{{- else -}}
allow
{{- end -}}
{{- end -}}
