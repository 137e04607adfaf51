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

{{- define "probeyard.natsEgress" -}}
{{- include "probeyard.serverEgress" (dict
  "root" .
  "component" "nats"
  "installed" (include "probeyard.natsInstalled" .)
  "port" 4222) }}
{{- end -}}

{{- define "probeyard.kubeApiEgress" -}}
{{- /* No API server is there, but metadata services of clouds are. */}}
{{- $never := dict
  "0.0.0.0/0" (list "0.0.0.0/8" "127.0.0.0/8" "224.0.0.0/4" "240.0.0.0/4" "169.254.0.0/16")
  "::/0" (list "::/96" "fd00:ec2::/32" "fe80::/10" "ff00::/8") }}
- to:
    {{- range .Values.networkPolicy.kubeApi.cidrs }}
    - ipBlock:
        cidr: {{ . | quote }}
        {{- with get $never . }}
        except:
          {{- toYaml . | nindent 10 }}
        {{- end }}
    {{- end }}
  ports:
    {{- range .Values.networkPolicy.kubeApi.ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end -}}

{{/* Of a pod that calls the API server and nothing else: {root, component}. */}}
{{- define "probeyard.kubeApiOnly" -}}
podSelector:
  matchLabels:
    {{- include "probeyard.selector" . | nindent 4 }}
policyTypes: [Ingress, Egress]
egress:
  {{- include "probeyard.dnsEgress" .root | nindent 2 }}
  {{- include "probeyard.kubeApiEgress" .root | nindent 2 }}
{{- end -}}

{{/* Egress of API and controllers. */}}
{{- define "probeyard.roleEgress" -}}
{{ include "probeyard.dnsEgress" . }}
{{ include "probeyard.kubeApiEgress" . }}
{{ include "probeyard.natsEgress" . }}
{{ include "probeyard.serverEgress" (dict
  "root" .
  "component" "postgres"
  "installed" (include "probeyard.postgresInstalled" .)
  "port" 5432) }}
{{- end -}}

{{- define "probeyard.metricsIngress" -}}
- ports: [{ protocol: TCP, port: 9090 }]
  {{- if .Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml .Values.networkPolicy.metricsFrom | nindent 4 }}
  {{- else }}
  from:
    - namespaceSelector:
        matchExpressions:
          - { key: kubernetes.io/metadata.name, operator: NotIn, values: [{{ .Values.runners.namespace }}] }
  {{- end }}
{{- end -}}

{{/* Any port of the open internet, and the list .allow beside it: origins of runners, receivers of webhooks. */}}
{{- define "probeyard.originsEgress" -}}
{{- /* Not the open internet: what RFC 6890 and its kin set apart, and what turns IPv6 into one of these. */}}
{{- $closed4 := list
  "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "169.254.0.0/16" "172.16.0.0/12"
  "192.0.0.0/24" "192.168.0.0/16" "198.18.0.0/15" "224.0.0.0/4" "240.0.0.0/4" }}
{{- $closed6 := list
  "::/96" "64:ff9b::/96" "64:ff9b:1::/48" "2001::/32" "2002::/16" "fc00::/7" "fe80::/10" "ff00::/8" }}
{{- range .root.Values.sources.deny }}
{{- if contains ":" . }}{{ $closed6 = append $closed6 . }}{{ else }}{{ $closed4 = append $closed4 . }}{{ end }}
{{- end }}
- to:
    {{- range $open, $closed := dict "0.0.0.0/0" $closed4 "::/0" $closed6 }}
    {{- if not (has $open $closed) }}
    - ipBlock:
        cidr: {{ $open | quote }}
        except:
          {{- toYaml ($closed | uniq) | nindent 10 }}
    {{- end }}
    {{- end }}
{{- range .allow }}{{ if .cidr }}
- to: [{ ipBlock: { cidr: {{ .cidr | quote }} } }]
  {{- with .port }}
  {{- /* SRT is UDP. */}}
  ports: [{ protocol: TCP, port: {{ . }} }, { protocol: UDP, port: {{ . }} }]
  {{- end }}
{{- end }}{{ end }}
{{- end -}}
