{{/* Every pod may ask the cluster's DNS. */}}
{{- define "probeyard.dnsEgress" -}}
{{- $dns := .Values.networkPolicy.dns -}}
- to:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ $dns.namespace }} }
      {{- with $dns.podLabels }}
      podSelector:
        matchLabels:
          {{- toYaml . | nindent 10 }}
      {{- end }}
  ports:
    {{- range $dns.ports }}
    - { protocol: UDP, port: {{ . }} }
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end -}}

{{/* Reaches a pod of this release, or wherever the external one is: {root, component, installed, port}. */}}
{{- define "probeyard.serverEgress" -}}
{{- if .installed -}}
- to:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ .root.Release.Namespace }} }
      podSelector:
        matchLabels:
          {{- include "probeyard.selector" . | nindent 10 }}
  ports: [{ protocol: TCP, port: {{ .port }} }]
{{- else -}}
- ports: [{ protocol: TCP, port: {{ .port }} }]
{{- end }}
{{- end -}}

{{- define "probeyard.kubeApiEgress" -}}
- to:
    {{- range .Values.networkPolicy.kubeApi.cidrs }}
    - ipBlock: { cidr: {{ . | quote }} }
    {{- end }}
  ports:
    {{- range .Values.networkPolicy.kubeApi.ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end -}}

{{/* Egress of API and controllers. */}}
{{- define "probeyard.roleEgress" -}}
{{ include "probeyard.dnsEgress" . }}
{{ include "probeyard.kubeApiEgress" . }}
{{ include "probeyard.serverEgress" (dict "root" . "component" "nats" "installed" (include "probeyard.natsInstalled" .) "port" 4222) }}
{{ include "probeyard.serverEgress" (dict "root" . "component" "postgres" "installed" (include "probeyard.postgresInstalled" .) "port" 5432) }}
{{- end -}}

{{- define "probeyard.metricsIngress" -}}
- ports: [{ protocol: TCP, port: 9090 }]
  {{- if .Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml .Values.networkPolicy.metricsFrom | nindent 4 }}
  {{- else }}
  from: [{ namespaceSelector: {} }]
  {{- end }}
{{- end -}}
