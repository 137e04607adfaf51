{{- define "probeyard.backupClaim" -}}
{{- default (printf "%s-backups" (include "probeyard.name" .)) .Values.backup.claim.existingClaim -}}
{{- end -}}

{{/* The place of backups, as every role reads it. */}}
{{- define "probeyard.backupEnv" -}}
{{- with .Values.backup.s3 }}
{{- if .bucket }}
- name: PY_BACKUP_S3_ENDPOINT
  value: {{ .endpoint | quote }}
- name: PY_BACKUP_S3_BUCKET
  value: {{ .bucket | quote }}
- name: PY_BACKUP_S3_PREFIX
  value: {{ .prefix | quote }}
- name: PY_BACKUP_S3_REGION
  value: {{ .region | quote }}
- name: PY_BACKUP_S3_KEY_FILE
  value: /etc/probeyard-backup/{{ .accessKeyKey }}
- name: PY_BACKUP_S3_SECRET_FILE
  value: /etc/probeyard-backup/{{ .secretKeyKey }}
{{- with .caKey }}
- name: PY_BACKUP_S3_CA_FILE
  value: /etc/probeyard-backup/{{ . }}
{{- end }}
{{- else }}
- name: PY_BACKUP_FOLDER
  value: /backups
{{- end }}
{{- end }}
{{- end -}}

{{- define "probeyard.backupMount" -}}
{{- if .Values.backup.s3.bucket -}}
- { name: s3, mountPath: /etc/probeyard-backup, readOnly: true }
{{- else -}}
- { name: backups, mountPath: /backups }
{{- end }}
{{- end -}}

{{- define "probeyard.backupVolume" -}}
{{- if .Values.backup.s3.bucket -}}
- name: s3
  secret: { secretName: {{ .Values.backup.s3.existingSecret }}, defaultMode: 0440 }
{{- else -}}
- name: backups
  persistentVolumeClaim: { claimName: {{ include "probeyard.backupClaim" . }} }
{{- end }}
{{- end -}}

{{/* The way to that place. */}}
{{- define "probeyard.backupEgress" -}}
{{- with .Values.backup }}
{{- if .s3.bucket }}
{{- $port := regexFind ":[0-9]+/?$" .s3.endpoint | trimPrefix ":" | trimSuffix "/" }}
- ports: [{ protocol: TCP, port: {{ default (ternary 80 443 (hasPrefix "http:" .s3.endpoint)) $port | int }} }]
{{- end }}
{{- with .extraEgress }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Every key of the installation. Optional: what an external NATS has no need of, and what may be removed. */}}
{{- define "probeyard.keysVolume" -}}
{{- $secrets := .Values.secrets -}}
- name: keys
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ $secrets.box }}
          items: [{ key: box.jwks, path: box/box.jwks }]
      - secret:
          name: {{ $secrets.sealPrivate }}
          items: [{ key: private.jwks, path: sealPrivate/private.jwks }]
      - secret:
          name: {{ $secrets.sealPublic }}
          items: [{ key: public.jwks, path: sealPublic/public.jwks }]
      - secret:
          name: {{ $secrets.admin }}
          optional: true
          items:
            {{- range $key := list "email" "password" "token" }}
            - { key: {{ $key }}, path: admin/{{ $key }} }
            {{- end }}
      - secret:
          name: {{ $secrets.natsAuth }}
          items:
            {{- range $key := list "api.nk" "controller.nk" "issuer.nk" }}
            - { key: {{ $key }}, path: natsAuth/{{ $key }} }
            {{- end }}
      {{- range $key := list "api.pub" "controller.pub" "issuer.pub" "auth.conf" }}
      - secret:
          name: {{ $secrets.natsAuth }}
          optional: true
          items: [{ key: {{ $key }}, path: natsAuth/{{ $key }} }]
      {{- end }}
      {{- range $key := list "ca.crt" "ca.key" "tls.crt" "tls.key" }}
      - secret:
          name: {{ $secrets.natsTls }}
          optional: true
          items: [{ key: {{ $key }}, path: natsTls/{{ $key }} }]
      {{- end }}
{{- end -}}

{{/* The key of the one backup that is restored. */}}
{{- define "probeyard.restoreEnv" -}}
- name: PY_RESTORE_NAME
  value: {{ .Values.restore.name | quote }}
- name: PY_RESTORE_KEY_FILE
  value: /etc/probeyard-restore/{{ .Values.restore.secretKey }}
{{- end -}}
{{- define "probeyard.restoreMount" -}}
- { name: restore, mountPath: /etc/probeyard-restore, readOnly: true }
{{ include "probeyard.backupMount" . }}
{{- end -}}
{{- define "probeyard.restoreVolume" -}}
- name: restore
  secret: { secretName: {{ .Values.restore.existingSecret }}, defaultMode: 0440 }
{{ include "probeyard.backupVolume" . }}
{{- end -}}

{{/* Of a pod that reaches PostgreSQL alone: {root, component}. */}}
{{- define "probeyard.recordPolicy" -}}
podSelector:
  matchLabels:
    {{- include "probeyard.selector" . | nindent 4 }}
policyTypes: [Ingress, Egress]
egress:
  {{- include "probeyard.dnsEgress" .root | nindent 2 }}
  {{- include "probeyard.serverEgress" (dict
    "root" .root
    "component" "postgres"
    "installed" (include "probeyard.postgresInstalled" .root)
    "port" 5432) | nindent 2 }}
{{- end -}}

{{/* Of a pod that reads or writes the whole record, and the place of backups. */}}
{{- define "probeyard.backupPolicy" -}}
{{ include "probeyard.recordPolicy" . }}
  {{- with include "probeyard.backupEgress" .root }}{{ trim . | nindent 2 }}{{ end }}
{{- end -}}
