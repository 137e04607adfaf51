{{/* What every container of ours is held to. */}}
{{- define "probeyard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "probeyard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
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
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "probeyard.spread" -}}
topologySpreadConstraints:
{{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "probeyard.selector" $ | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "probeyard.scrapeAnnotations" -}}
{{- if .Values.metrics.scrapeAnnotations }}
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
{{- else -}}
{{ get $installed .part }}
{{- end -}}
{{- end -}}

{{/* {root, part} */}}
{{- define "probeyard.postgresEnv" -}}
{{- $external := .root.Values.postgres.external -}}
{{- $keys := ternary
  (dict "url" $external.urlKey "direct" $external.directUrlKey)
  (dict "url" "url" "direct" "direct-url")
  (not (empty $external.existingSecret)) -}}
{{- $secret := include "probeyard.postgresSecret" . -}}
- name: PY_POSTGRES_URL
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ $keys.url }} } }
- name: PY_POSTGRES_DIRECT_URL
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ $keys.direct }}, optional: true } }
{{- if eq .part "owner" }}
# Which roles to give rights to.
{{- range $part := list "api" "controller" }}
- name: PY_POSTGRES_{{ upper $part }}_URL
  {{- $secret := include "probeyard.postgresSecret" (dict "root" $.root "part" $part) }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ $keys.url }} } }
{{- end }}
{{- end }}
{{- if and $external.existingSecret $external.caKey }}
- name: PY_POSTGRES_CA_FILE
  value: /etc/probeyard-postgres/ca.crt
{{- end }}
{{- end -}}

{{- define "probeyard.postgresCaMount" -}}
{{- with .Values.postgres.external }}{{ if and .existingSecret .caKey }}
- name: postgres-ca
  mountPath: /etc/probeyard-postgres
  readOnly: true
{{- end }}{{ end }}
{{- end -}}

{{- define "probeyard.postgresCaVolume" -}}
{{- with .Values.postgres.external }}{{ if and .existingSecret .caKey }}
- name: postgres-ca
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items: [{ key: {{ .caKey }}, path: ca.crt }]
{{- end }}{{ end }}
{{- end -}}

{{/* NATS as a static client: {root, key}. */}}
{{- define "probeyard.natsEnv" -}}
- name: PY_NATS_URL
  value: {{ include "probeyard.natsUrl" .root }}
- name: PY_NATS_NKEY_FILE
  value: /etc/probeyard/nats/{{ .key }}
- name: PY_NATS_CA_FILE
  value: /etc/probeyard/nats/ca.crt
{{- end -}}

{{- define "probeyard.natsCaSource" -}}
- secret:
    name: {{ .Values.secrets.natsTls }}
    items: [{ key: ca.crt, path: nats/ca.crt }]
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
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "probeyard.sourcesEnv" -}}
- name: PY_ALLOW_SOURCES
  value: {{ toJson .Values.sources.allow | quote }}
- name: PY_DENY_CIDRS
  value: {{ toJson .Values.sources.deny | quote }}
- name: PY_S3_HOSTS
  value: {{ toJson .Values.sources.s3.hosts | quote }}
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

{{/* The schema is brought up to date before a new version serves; safe beside others that do the same. */}}
{{- define "probeyard.migrateContainer" -}}
- name: migrate
  image: {{ include "probeyard.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [migrate]
  env:
    {{- include "probeyard.selfEnv" . | nindent 4 }}
    {{- include "probeyard.postgresEnv" (dict "root" . "part" "owner") | nindent 4 }}
    - name: PY_ADMIN_EMAIL_FILE
      value: /etc/probeyard-admin/email
    - name: PY_ADMIN_PASSWORD_FILE
      value: /etc/probeyard-admin/password
    - name: PY_ADMIN_TOKEN_FILE
      value: /etc/probeyard-admin/token
  resources:
    requests: { cpu: 10m, memory: 64Mi }
    limits: { memory: 256Mi }
  securityContext:
    {{- include "probeyard.containerSecurity" . | nindent 4 }}
  volumeMounts:
    - name: admin
      mountPath: /etc/probeyard-admin
      readOnly: true
    {{- with include "probeyard.postgresCaMount" . }}{{ trim . | nindent 4 }}{{ end }}
{{- end -}}

{{- define "probeyard.adminVolume" -}}
- name: admin
  secret:
    secretName: {{ .Values.secrets.admin }}
    defaultMode: 0440
{{- end -}}
