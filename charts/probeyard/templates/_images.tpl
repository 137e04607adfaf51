{{/* One image reference: {root, registry, repository, tag, digest}. The override for all comes first. */}}
{{- define "probeyard.imageRef" -}}
{{- $registry := coalesce .root.Values.global.imageRegistry .registry .root.Values.image.registry -}}
{{- $name := ternary (printf "%s/%s" (trimSuffix "/" (default "" $registry)) .repository) .repository (not (empty $registry)) -}}
{{- if .digest }}{{ $name }}@{{ .digest }}{{ else }}{{ $name }}:{{ .tag }}{{ end -}}
{{- end -}}

{{- define "probeyard.image" -}}
{{- $image := .Values.image -}}
{{- include "probeyard.imageRef" (dict "root" . "registry" $image.registry "repository" $image.repository "tag" (default .Chart.AppVersion $image.tag) "digest" $image.digest) -}}
{{- end -}}

{{- define "probeyard.natsImage" -}}{{ include "probeyard.imageRef" (merge (dict "root" .) .Values.nats.image) }}{{- end -}}
{{- define "probeyard.postgresImage" -}}{{ include "probeyard.imageRef" (merge (dict "root" .) .Values.postgres.image) }}{{- end -}}

{{- define "probeyard.bundledImage" -}}
{{- $image := .Values.tools.bundled -}}
{{- $tag := coalesce $image.tag .Values.image.tag .Chart.AppVersion -}}
{{- include "probeyard.imageRef" (dict "root" . "registry" $image.registry "repository" $image.repository "tag" $tag "digest" $image.digest) -}}
{{- end -}}

{{/* Image of one tool of the catalog: {root, entry}. */}}
{{- define "probeyard.toolImage" -}}
{{- if .entry.image -}}
{{ .entry.image }}
{{- else -}}
{{- $tools := .root.Values.tools -}}
{{- include "probeyard.imageRef" (dict "root" .root "registry" $tools.registry "repository" (print $tools.repositoryPrefix .entry.tool) "tag" (default .entry.version .entry.tag) "digest" .entry.digest) -}}
{{- end -}}
{{- end -}}

{{/* What ProbeTools may use where the values do not say: the place of the catalog's own images. */}}
{{- define "probeyard.allowedImages" -}}
{{- if .Values.tools.allowedImages -}}
{{ toJson .Values.tools.allowedImages }}
{{- else -}}
{{- $own := include "probeyard.imageRef" (dict "root" . "registry" .Values.tools.registry "repository" .Values.tools.repositoryPrefix "tag" "" "digest" "") -}}
{{- $allowed := list (trimSuffix ":" $own) -}}
{{- range .Values.tools.catalog }}{{ if .image }}{{ $allowed = append $allowed .image }}{{ end }}{{ end -}}
{{ toJson ($allowed | uniq) }}
{{- end -}}
{{- end -}}
