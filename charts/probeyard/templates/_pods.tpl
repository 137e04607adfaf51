{{/* What every container of ours is held to. */}}
{{- define "probeyard.containerSecurity" -}}
{{ toYaml .Values.containerSecurityContext }}
{{- end -}}

{{- define "probeyard.podSecurity" -}}
{{ toYaml .Values.podSecurityContext }}
{{- end -}}

{{/* Of API and controllers: {values}. */}}
{{- define "probeyard.extraMounts" -}}
{{- with .values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}
{{- define "probeyard.extraVolumes" -}}
{{- with .values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}
{{/* How names are resolved: {root, values}. */}}
{{- define "probeyard.resolution" -}}
{{- with .root.Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of API or controllers: {root, component, values, account}. Nothing where the operator made it. */}}
{{- define "probeyard.serviceAccount" -}}
{{- if .values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .account }}
  labels:
    {{- include "probeyard.labels" . | nindent 4 }}
  {{- with .values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
---
{{- end }}
{{- end -}}

{{- define "probeyard.pullSecret" -}}{{ include "probeyard.name" . }}-pull{{- end -}}
{{/* The setup job runs before the release has any Secret. */}}
{{- define "probeyard.setupPullSecret" -}}{{ include "probeyard.name" . }}-pull-setup{{- end -}}

{{/* Names of the pull secrets, as a list: {root, own}, own being the name of the one that this chart makes. */}}
{{- define "probeyard.pullSecretNames" -}}
{{- $names := list -}}
{{- range .root.Values.imagePullSecrets }}{{ $names = append $names .name }}{{ end -}}
{{- if .root.Values.pullSecret.dockerConfigJson }}{{ $names = append $names .own }}{{ end -}}
{{ toJson $names }}
{{- end -}}

{{- define "probeyard.pullSecretsOf" -}}
{{- with include "probeyard.pullSecretNames" . | fromJsonArray }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "probeyard.pullSecrets" -}}
{{- include "probeyard.pullSecretsOf" (dict "root" . "own" (include "probeyard.pullSecret" .)) -}}
{{- end -}}
{{- define "probeyard.setupPullSecrets" -}}
{{- include "probeyard.pullSecretsOf" (dict "root" . "own" (include "probeyard.setupPullSecret" .)) -}}
{{- end -}}

{{- define "probeyard.nodeSelector" -}}
{{- $selector := merge (dict) (default (dict) .selector) (dict "kubernetes.io/os" "linux") -}}
{{- if .root.Values.arch }}{{ $_ := set $selector "kubernetes.io/arch" .root.Values.arch }}{{ end -}}
{{ toYaml $selector }}
{{- end -}}

{{/* Where a pod may run: {root, component, values}. */}}
{{- define "probeyard.scheduling" -}}
nodeSelector:
  {{- include "probeyard.nodeSelector" (dict "root" .root "selector" .values.nodeSelector) | nindent 2 }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity | default .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* The same of a pod that has others beside it: where possible, they are on several nodes and in several zones. */}}
{{- define "probeyard.spread" -}}
{{- if .values.topologySpreadConstraints }}
{{- include "probeyard.scheduling" . }}
topologySpreadConstraints:
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- $labels := dict "matchLabels" (include "probeyard.selector" . | fromYaml) }}
{{- /* Otherwise a rollout balances new pods against old ones, and both may end on one node. */}}
{{- $others := dict "labelSelector" $labels "matchLabelKeys" (list "pod-template-hash") }}
{{- /* Not a constraint beside that of zones: the scheduler ignores all of them where nodes have no zone. */}}
{{- $term := merge (dict "topologyKey" "kubernetes.io/hostname") $others }}
{{- $nodes := list (dict "weight" 100 "podAffinityTerm" $term) }}
{{- $apart := dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $nodes) }}
{{- $affinity := merge (deepCopy (default (dict) .values.affinity)) $apart }}
{{- include "probeyard.scheduling" (dict "root" .root "values" .values "affinity" $affinity) }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    {{- toYaml $others | nindent 4 }}
{{- end }}
{{- end -}}

{{/* What API and controllers show of themselves: log lines, and the port of metrics with who may read them there. */}}
{{- define "probeyard.observedEnv" -}}
- name: PY_LOG_SAMPLE
  value: {{ toJson .Values.logSample | quote }}
{{- with .Values.metrics }}
- name: PY_METRICS_LISTEN
  value: ":9090"
- name: PY_METRICS_AUTH
  value: {{ .auth }}
{{- if eq .auth "token" }}
- name: PY_METRICS_TOKEN_FILE
  value: /etc/probeyard/metrics/token
{{- end }}
{{- if .tls.existingSecret }}
- name: PY_METRICS_TLS_FOLDER
  value: /etc/probeyard/metrics
{{- end }}
{{- end }}
{{- end -}}

{{- define "probeyard.metricsSources" -}}
{{- with .Values.metrics }}
{{- if eq .auth "token" }}
- secret:
    name: {{ .tokenSecret }}
    items: [{ key: token, path: metrics/token }]
{{- end }}
{{- with .tls.existingSecret }}
- secret:
    name: {{ . }}
    items:
      - { key: tls.crt, path: metrics/tls.crt }
      - { key: tls.key, path: metrics/tls.key }
{{- end }}
{{- end }}
{{- end -}}

{{/* Without a credential, whatever metrics.auth says. */}}
{{- define "probeyard.readiness" -}}
httpGet: { path: /readyz, port: metrics{{ if .Values.metrics.tls.existingSecret }}, scheme: HTTPS{{ end }} }
{{- end -}}

{{- define "probeyard.scrapeAnnotations" -}}
{{- if .Values.metrics.scrapeAnnotations }}
{{- if .Values.metrics.tls.existingSecret }}
prometheus.io/scheme: https
{{- end }}
prometheus.io/scrape: "true"
prometheus.io/port: "9090"
prometheus.io/path: /metrics
{{- end }}
{{- end -}}

{{/* Who and where a process is. */}}
{{- define "probeyard.selfEnv" -}}
- name: PY_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: PY_POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: PY_REPLICA
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: PY_POD_UID
  valueFrom: { fieldRef: { fieldPath: metadata.uid } }
- name: PY_POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: PY_NODE_NAME
  valueFrom: { fieldRef: { fieldPath: spec.nodeName } }
- name: PY_LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- end -}}

{{/* Whose Secret a part signs in with: {root, part}, a part being owner, api or controller. */}}
{{- define "probeyard.postgresSecret" -}}
{{- $external := .root.Values.postgres.external -}}
{{- $own := dict "api" $external.apiSecret "controller" $external.controllerSecret -}}
{{- $secrets := .root.Values.secrets -}}
{{- $installed := dict "owner" $secrets.postgres "api" $secrets.postgresApi "controller" $secrets.postgresController -}}
{{- if $external.existingSecret -}}
{{ default $external.existingSecret (get $own .part) }}
{{- else if .root.Values.postgres.cnpg.enabled -}}
{{ include "probeyard.name" .root }}-postgres-app
{{- else -}}
{{ get $installed .part }}
{{- end -}}
{{- end -}}

{{/* Keys in that Secret. CloudNativePG chooses its own. */}}
{{- define "probeyard.postgresKeys" -}}
{{- $external := .Values.postgres.external -}}
{{- if $external.existingSecret -}}
{{ dict "url" $external.urlKey "direct" $external.directUrlKey | toJson }}
{{- else if .Values.postgres.cnpg.enabled -}}
{{ dict "url" "uri" "direct" "direct-url" | toJson }}
{{- else -}}
{{ dict "url" "url" "direct" "direct-url" | toJson }}
{{- end -}}
{{- end -}}

{{/* The Secret and the key of the server's CA, as JSON; empty: none. */}}
{{- define "probeyard.postgresCa" -}}
{{- $external := .Values.postgres.external -}}
{{- if and $external.existingSecret $external.caKey -}}
{{ dict "secret" (default $external.existingSecret $external.caSecret) "key" $external.caKey | toJson }}
{{- else if and .Values.postgres.cnpg.enabled (not $external.existingSecret) -}}
{{ dict "secret" (printf "%s-postgres-ca" (include "probeyard.name" .)) "key" "ca.crt" | toJson }}
{{- end -}}
{{- end -}}

{{/* The Secret of a part's client certificate; empty: none. {root, part} */}}
{{- define "probeyard.postgresClientSecret" -}}
{{- $client := .root.Values.postgres.external.clientCertificate -}}
{{- if .root.Values.postgres.external.existingSecret -}}
{{ default $client.ownerSecret (get (dict "api" $client.apiSecret "controller" $client.controllerSecret) .part) }}
{{- end -}}
{{- end -}}

{{/* {root, part} */}}
{{- define "probeyard.postgresEnv" -}}
{{- $keys := include "probeyard.postgresKeys" .root | fromJson -}}
- name: PY_POSTGRES_FOLDER
  value: /etc/probeyard-postgres
{{- if eq .part "owner" }}
# Which roles to give rights to.
{{- range $part := list "api" "controller" }}
- name: PY_POSTGRES_{{ upper $part }}_URL
  {{- $secret := include "probeyard.postgresSecret" (dict "root" $.root "part" $part) }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ $keys.url }} } }
{{- end }}
{{- else }}
- name: PY_POSTGRES_POOL_SIZE
  value: {{ .root.Values.postgres.poolSize | quote }}
- name: PY_POSTGRES_PREPARED
  value: {{ .root.Values.postgres.preparedStatements | quote }}
{{- end }}
{{- if include "probeyard.postgresCa" .root }}
- name: PY_POSTGRES_CA_FILE
  value: /etc/probeyard-postgres/ca.crt
{{- end }}
{{- if include "probeyard.postgresClientSecret" . }}
- name: PY_POSTGRES_CERT_FILE
  value: /etc/probeyard-postgres/tls.crt
- name: PY_POSTGRES_KEY_FILE
  value: /etc/probeyard-postgres/tls.key
{{- end }}
{{- end -}}

{{/*
Address, CA and client certificate of a part: {root, part}. They are read for each new connection, so that changed ones
are used without a restart.
*/}}
{{- define "probeyard.postgresMount" -}}
- name: postgres-{{ .part }}
  mountPath: /etc/probeyard-postgres
  readOnly: true
{{- end -}}

{{- define "probeyard.postgresVolumes" -}}
{{- $keys := include "probeyard.postgresKeys" .root | fromJson -}}
{{- $ca := include "probeyard.postgresCa" .root }}
{{- $client := include "probeyard.postgresClientSecret" . }}
{{- $secret := include "probeyard.postgresSecret" . }}
- name: postgres-{{ .part }}
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ $secret }}
          items: [{ key: {{ $keys.url }}, path: url }]
      - secret:
          name: {{ $secret }}
          optional: true
          items:
            - { key: {{ $keys.direct }}, path: direct-url }
            # While a password is exchanged.
            - { key: other-password, path: other-password }
      {{- if $ca }}
      {{- $ca := fromJson $ca }}
      - secret:
          name: {{ $ca.secret }}
          items: [{ key: {{ $ca.key }}, path: ca.crt }]
      {{- end }}
      {{- if $client }}
      {{- $keys := $.root.Values.postgres.external.clientCertificate }}
      - secret:
          name: {{ $client }}
          items:
            - { key: {{ $keys.certificateKey }}, path: tls.crt }
            - { key: {{ $keys.privateKeyKey }}, path: tls.key }
      {{- end }}
{{- end -}}

{{- define "probeyard.tracingEnv" -}}
{{- with .Values.tracing }}{{ if .endpoint }}
- name: PY_TRACING_ENDPOINT
  value: {{ .endpoint | quote }}
- name: PY_TRACING_PERCENT
  value: {{ .percent | int | quote }}
{{- end }}{{ end }}
{{- end -}}

{{/* NATS as a static client: {root, part}. */}}
{{- define "probeyard.natsEnv" -}}
- name: PY_NATS_URL
  value: {{ include "probeyard.natsUrl" .root | quote }}
- name: PY_NATS_NKEY_FILE
  value: /etc/probeyard/nats/{{ .part }}.nk
- name: PY_NATS_CA_FILE
  value: /etc/probeyard/nats/ca.crt
{{- end -}}

{{- define "probeyard.natsCaSource" -}}
- secret:
    name: {{ .Values.secrets.natsTls }}
    items: [{ key: ca.crt, path: nats/ca.crt }]
{{- end -}}

{{/* In the release's namespace, where it may appear later than the pods. */}}
{{- define "probeyard.sourceCaSource" -}}
{{- with .Values.sources.ca }}{{ if or .pem .configMap }}
- configMap:
    name: {{ default (printf "%s-source-ca" (include "probeyard.name" $)) .configMap }}
    optional: true
    items: [{ key: ca.crt, path: sources/ca.crt }]
{{- end }}{{ end }}
{{- end -}}

{{/* Behind an Ingress or a Gateway, every caller has its address unless one proxy is trusted: one caller could use up
     the sign-ins of all. */}}
{{- define "probeyard.trustedProxies" -}}
{{- if kindIs "invalid" .Values.api.trustedProxies -}}
{{ ternary 1 0 (or .Values.ingress.enabled .Values.gateway.enabled) }}
{{- else -}}
{{ .Values.api.trustedProxies | int }}
{{- end -}}
{{- end -}}

{{/* Issuers of single sign-on as the API takes them, as JSON; nothing if there is none. */}}
{{- define "probeyard.issuers" -}}
{{- $issuers := list -}}
{{- range .Values.accounts.oidc -}}
{{- $claims := .claims | default dict -}}
{{- $issuers = append $issuers (dict
  "name" .name
  "issuer" .issuer
  "clientId" .clientId
  "hasSecret" (hasKey . "clientSecretRef")
  "scopes" (.scopes | default (list "email" "profile"))
  "claims" (dict "email" ($claims.email | default "email") "groups" ($claims.groups | default "groups"))
  "groups" .groups
  "allowedDomains" (.allowedDomains | default list)
  "linkByEmail" (.linkByEmail | default false)
  "audience" (.audience | default "")) -}}
{{- end -}}
{{- if $issuers }}{{ toJson $issuers }}{{ end -}}
{{- end -}}

{{- define "probeyard.accountsEnv" -}}
- name: PY_BOX_FILE
  value: /etc/probeyard/accounts/box.jwks
- name: PY_PUBLIC_URL
  value: {{ .Values.api.publicUrl | quote }}
- name: PY_TRUSTED_HOPS
  value: {{ include "probeyard.trustedProxies" . | quote }}
- name: PY_SIGN_UP
  value: {{ .Values.accounts.signUp | quote }}
- name: PY_MOST_SUB_USERS
  value: {{ .Values.accounts.maxSubUsers | int64 | quote }}
- name: PY_MOST_TOKENS
  value: {{ .Values.accounts.maxTokens | int64 | quote }}
- name: PY_PASSWORDS
  value: {{ .Values.accounts.passwords | quote }}
{{- with .Values.accounts.absenceDays }}
- name: PY_ABSENCE_DAYS
  value: {{ . | int64 | quote }}
{{- end }}
{{- with include "probeyard.issuers" . }}
- name: PY_OIDC
  value: {{ . | quote }}
- name: PY_OIDC_FOLDER
  value: /etc/probeyard/oidc
{{- end }}
- name: PY_TOKENS_VIEWABLE
  value: {{ .Values.tokens.viewable | quote }}
{{- with .Values.mail }}
{{- if .host }}
- name: PY_SMTP_HOST
  value: {{ .host | quote }}
- name: PY_SMTP_PORT
  value: {{ .port | quote }}
- name: PY_SMTP_TLS
  value: {{ .tls | quote }}
- name: PY_SMTP_FROM
  value: {{ .from | quote }}
{{- if .existingSecret }}
- name: PY_SMTP_USER_FILE
  value: /etc/probeyard/mail/username
- name: PY_SMTP_PASSWORD_FILE
  value: /etc/probeyard/mail/password
{{- if .caKey }}
- name: PY_SMTP_CA_FILE
  value: /etc/probeyard/mail/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "probeyard.samplesHost" -}}
{{ include "probeyard.name" . }}-samples.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "probeyard.sourcesEnv" -}}
{{- $allow := .Values.sources.allow -}}
{{- if (.Values.samples).enabled }}
{{- $allow = append $allow (dict "host" (include "probeyard.samplesHost" .) "port" 80) }}
{{- end -}}
- name: PY_ALLOW_SOURCES
  value: {{ toJson $allow | quote }}
- name: PY_DENY_CIDRS
  value: {{ toJson .Values.sources.deny | quote }}
- name: PY_S3_HOSTS
  value: {{ toJson .Values.sources.s3.hosts | quote }}
{{- end -}}

{{/* Reached without the egress proxy, as a JSON list. */}}
{{- define "probeyard.noProxy" -}}
{{- $noProxy := .Values.sources.noProxy -}}
{{- if (.Values.samples).enabled }}{{ $noProxy = append $noProxy (include "probeyard.samplesHost" .) }}{{ end -}}
{{ toJson $noProxy }}
{{- end -}}

{{- define "probeyard.limitsEnv" -}}
- name: PY_LIMIT_REQUESTS_PER_MINUTE
  value: {{ .Values.limits.requestsPerMinute | int64 | quote }}
- name: PY_LIMIT_CONCURRENCY
  value: {{ .Values.limits.concurrency | int64 | quote }}
{{- if not (kindIs "invalid" .Values.limits.accountConcurrency) }}
- name: PY_LIMIT_ACCOUNT_CONCURRENCY
  value: {{ .Values.limits.accountConcurrency | int64 | quote }}
{{- end }}
- name: PY_LIMIT_QUEUE_TIMEOUT_MS
  value: {{ .Values.limits.queueTimeoutMs | int64 | quote }}
- name: PY_LIMIT_FILE_BYTES
  value: {{ .Values.limits.fileBytes | int64 | quote }}
{{- end -}}
