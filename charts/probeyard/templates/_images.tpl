{{/* One image reference: {root, registry, repository, tag, digest}. The override for all comes first. */}}
{{- define "probeyard.imageRef" -}}
{{- $registry := coalesce .root.Values.global.imageRegistry .registry .root.Values.image.registry -}}
{{- $name := ternary
  (printf "%s/%s" (trimSuffix "/" (default "" $registry)) .repository)
  .repository
  (not (empty $registry)) -}}
{{- if .digest }}{{ $name }}@{{ .digest }}{{ else }}{{ $name }}:{{ .tag }}{{ end -}}
{{- end -}}

{{- define "probeyard.image" -}}
{{- $image := .Values.image -}}
{{- include "probeyard.imageRef" (merge (dict "root" . "tag" (default .Chart.AppVersion $image.tag)) $image) -}}
{{- end -}}

{{- define "probeyard.natsImage" -}}
{{- include "probeyard.imageRef" (merge (dict "root" .) .Values.nats.image) -}}
{{- end -}}
{{- define "probeyard.postgresImage" -}}
{{- include "probeyard.imageRef" (merge (dict "root" .) .Values.postgres.image) -}}
{{- end -}}

{{- define "probeyard.bundledImage" -}}
{{- $image := .Values.tools.bundled -}}
{{- $tag := coalesce $image.tag .Values.image.tag .Chart.AppVersion -}}
{{- include "probeyard.imageRef" (merge (dict "root" . "tag" $tag) $image) -}}
{{- end -}}

{{/* Image of one tool of the catalog: {root, entry}. */}}
{{- define "probeyard.toolImage" -}}
{{- if .entry.image -}}
{{ .entry.image }}
{{- else -}}
{{- $tools := .root.Values.tools -}}
{{- include "probeyard.imageRef" (dict
  "root" .root
  "registry" $tools.registry
  "repository" (print $tools.repositoryPrefix .entry.tool)
  "tag" (default .entry.version .entry.tag)
  "digest" .entry.digest) -}}
{{- end -}}
{{- end -}}

{{/* What runners run on: the images of tools are for amd64, many for arm64, too. */}}
{{- define "probeyard.runnerArch" -}}
{{ coalesce .Values.arch (get .Values.runners.nodeSelector "kubernetes.io/arch") "amd64" }}
{{- end -}}

{{/* The tools to install, as the controller reads them. */}}
{{- define "probeyard.catalog" -}}
{{- $arch := include "probeyard.runnerArch" . }}
{{- $tools := list }}
{{- range default (.Files.Get "files/catalog.yaml" | fromYamlArray) .Values.tools.catalog }}
{{- $version := printf "%s-%s" .tool .version }}
{{- $wanted := or (not .optional) (has $version $.Values.tools.include) }}
{{- $wanted = and $wanted (not (has $version $.Values.tools.exclude)) }}
{{- if and $wanted (or (eq $arch "amd64") $.Values.tools.catalog .arm64) }}
{{- $image := include "probeyard.toolImage" (dict "root" $ "entry" .) }}
{{- $command := ternary (dig "arm64" "command" .command .) .command (eq $arch "arm64") }}
{{- $tool := dict "tool" .tool "version" .version "command" $command "image" $image }}
{{- if .latest }}{{ $_ := set $tool "latest" true }}{{ end }}
{{- $tools = append $tools $tool }}
{{- end }}
{{- end }}
{{- toYaml $tools }}
{{- end -}}

{{/* Where ProbeTools may come from, where the values do not say: the place of the catalog's own images. */}}
{{- define "probeyard.allowedRegistries" -}}
{{- if .Values.tools.allowedRegistries -}}
{{ toJson .Values.tools.allowedRegistries }}
{{- else -}}
{{- $allowed := list -}}
{{- range (include "probeyard.catalog" . | fromYamlArray) -}}
{{- $place := dir .image -}}
{{- $allowed = append $allowed (ternary .image $place (eq $place ".")) -}}
{{- end -}}
{{ toJson ($allowed | uniq) }}
{{- end -}}
{{- end -}}
