{{/* The claim of a StatefulSet's data: {persistence, selector}. */}}
{{- define "probeyard.claim" -}}
{{- with .persistence }}{{ if .enabled }}
volumeClaimTemplates:
  - metadata:
      name: data
      labels:
        {{- $.selector | nindent 8 }}
    spec:
      accessModes: [ReadWriteOnce]
      {{- if not (kindIs "invalid" .storageClass) }}
      storageClassName: {{ .storageClass | quote }}
      {{- end }}
      resources:
        requests: { storage: {{ .size }} }
{{- end }}{{ end }}
{{- end -}}
