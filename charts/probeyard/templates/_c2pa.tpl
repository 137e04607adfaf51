{{/* What the C2PA check reads, by file name. */}}
{{- define "probeyard.c2paFiles" -}}
{{- with .Values.c2pa }}
{{- with .trustAnchors }}
trust_anchors.pem: {{ toJson . }}
{{- end }}
{{- with .userAnchors }}
user_anchors.pem: {{ toJson . }}
{{- end }}
{{- with .allowedList }}
allowed_list.pem: {{ toJson . }}
{{- end }}
{{- with .trustConfig }}
trust_config.cfg: {{ toJson . }}
{{- end }}
{{- with .settings }}
settings.json: {{ toJson . | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{/* The ConfigMap with it; empty where nothing is set. */}}
{{- define "probeyard.c2paConfigMap" -}}
{{- if .Values.c2pa.configMap }}{{ .Values.c2pa.configMap }}
{{- else if include "probeyard.c2paFiles" . | fromYaml }}probeyard-c2pa
{{- end }}
{{- end }}
