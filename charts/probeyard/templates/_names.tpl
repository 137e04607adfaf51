{{/* Name of everything in the release's namespace. */}}
{{- define "probeyard.name" -}}
{{- $own := ternary .Release.Name (printf "%s-probeyard" .Release.Name) (contains "probeyard" .Release.Name) -}}
{{- default $own .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of what stands outside namespaces: two installations in two namespaces must not meet. */}}
{{- define "probeyard.clusterName" -}}
{{- $name := include "probeyard.name" . -}}
{{- ternary $name (printf "%s-%s" .Release.Namespace $name) (eq .Release.Namespace $name) -}}
{{- end -}}

{{/* A namespaceSelector: those whose ProbeJobs this release runs. */}}
{{- define "probeyard.servedNamespaces" -}}
{{- $names := list .Release.Namespace -}}
{{- range .Values.tenants.namespaces -}}
{{- $names = append $names .name -}}
{{- end -}}
matchExpressions:
  - { key: kubernetes.io/metadata.name, operator: In, values: {{ toJson $names }} }
{{- end -}}

{{- define "probeyard.selector" -}}
app.kubernetes.io/name: probeyard
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Labels of an object: {root, component}. */}}
{{- define "probeyard.labels" -}}
{{ include "probeyard.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: probeyard
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of a server's pods: nothing that changes with the release, so that an upgrade does not start it anew. */}}
{{- define "probeyard.steadyLabels" -}}
{{ include "probeyard.selector" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "probeyard.apiAccount" -}}
{{- default (printf "%s-api" (include "probeyard.name" .)) .Values.api.serviceAccount.name -}}
{{- end -}}
{{- define "probeyard.controllerAccount" -}}
{{- default (printf "%s-controller" (include "probeyard.name" .)) .Values.controller.serviceAccount.name -}}
{{- end -}}
{{- define "probeyard.setupAccount" -}}{{ include "probeyard.name" . }}-setup{{- end -}}
{{- define "probeyard.renewalAccount" -}}{{ include "probeyard.name" . }}-renewal{{- end -}}
{{- define "probeyard.rotationAccount" -}}{{ include "probeyard.name" . }}-rotation{{- end -}}
{{- define "probeyard.runnerAccount" -}}probeyard-runner{{- end -}}
{{- define "probeyard.verifyAccount" -}}probeyard-verify{{- end -}}
{{/* In the runners' namespace: the ConfigMap that owns every pod there. */}}
{{- define "probeyard.runnerOwner" -}}probeyard-runners{{- end -}}
{{/* In the runners' namespace: the CA of NATS, which the controller keeps there. */}}
{{- define "probeyard.natsCaConfigMap" -}}probeyard-ca{{- end -}}

{{/* Every name of the installed NATS, for its certificate. */}}
{{- define "probeyard.natsHosts" -}}
{{- $hosts := list -}}
{{- $namespace := .Release.Namespace -}}
{{- range $suffix := list
  ""
  (print "." $namespace)
  (print "." $namespace ".svc")
  (print "." $namespace ".svc.cluster.local") -}}
{{- $hosts = append $hosts (print (include "probeyard.name" $) "-nats" $suffix) -}}
{{- end -}}
{{- if include "probeyard.natsClustered" . -}}
{{- range include "probeyard.natsPods" . | fromJsonArray -}}{{ $hosts = append $hosts . }}{{- end -}}
{{- end -}}
{{- join "," $hosts -}}
{{- end -}}

{{- define "probeyard.natsInstalled" -}}
{{- if not (or .Values.nats.external.url .Values.nats.external.urls) }}true{{ end -}}
{{- end -}}
{{/* More than one server of the installed NATS. Its StatefulSet is another one than that of a single server: the two
     store their streams differently, and neither service nor order of pods of a StatefulSet can be changed. */}}
{{- define "probeyard.natsClustered" -}}
{{- if and (include "probeyard.natsInstalled" .) (gt (int .Values.nats.replicas) 1) }}true{{ end -}}
{{- end -}}
{{- define "probeyard.natsServers" -}}
{{ include "probeyard.name" . }}-nats{{ if include "probeyard.natsClustered" . }}-cluster{{ end }}
{{- end -}}
{{/* Host name of each server of a cluster, as a JSON list. */}}
{{- define "probeyard.natsPods" -}}
{{- $servers := include "probeyard.natsServers" . -}}
{{- $hosts := list -}}
{{- range $index := until (int .Values.nats.replicas) -}}
{{- $hosts = append $hosts (printf "%s-%d.%s.%s.svc" $servers $index $servers $.Release.Namespace) -}}
{{- end -}}
{{ toJson $hosts }}
{{- end -}}
{{- define "probeyard.postgresInstalled" -}}
{{- if not (or .Values.postgres.external.existingSecret .Values.postgres.cnpg.enabled) }}true{{ end -}}
{{- end -}}

{{/* Of the StatefulSet's one pod. */}}
{{- define "probeyard.postgresClaim" -}}data-{{ include "probeyard.name" . }}-postgres-0{{- end -}}

{{- define "probeyard.natsUrl" -}}
{{- if .Values.nats.external.urls -}}
{{ join "," .Values.nats.external.urls }}
{{- else if .Values.nats.external.url -}}
{{ .Values.nats.external.url }}
{{- else if include "probeyard.natsClustered" . -}}
{{- $urls := list -}}
{{- range include "probeyard.natsPods" . | fromJsonArray -}}
{{- $urls = append $urls (printf "tls://%s:4222" .) -}}
{{- end -}}
{{ join "," $urls }}
{{- else -}}
{{ printf "tls://%s-nats.%s.svc:4222" (include "probeyard.name" .) .Release.Namespace }}
{{- end -}}
{{- end -}}
