{{/* The named credentials that are an identity of the controller, not a Secret, as {items}. */}}
{{- define "probeyard.identities" -}}
{{- $found := list -}}
{{- range .Values.sources.credentials }}{{ if .identity }}{{ $found = append $found . }}{{ end }}{{ end -}}
{{ toYaml (dict "items" $found) }}
{{- end -}}

{{/* Tokens of the controller's service account, one for the token service of each. Kubernetes renews them. */}}
{{- define "probeyard.identityVolume" -}}
{{- $audiences := dict "s3" "sts.amazonaws.com" "az" "api://AzureADTokenExchange" -}}
{{- with (include "probeyard.identities" . | fromYaml).items }}
- name: identity
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - serviceAccountToken:
          path: {{ .name }}/token
          {{- $usual := get $audiences .kind | default (print "https:" .identity.provider) }}
          audience: {{ .identity.audience | default $usual | quote }}
          expirationSeconds: 3600
      {{- end }}
{{- end }}
{{- end -}}
{{- define "probeyard.identityMount" -}}
{{- if (include "probeyard.identities" . | fromYaml).items }}
- name: identity
  mountPath: /var/run/secrets/probeyard.dev/identity
  readOnly: true
{{- end }}
{{- end -}}
