{{- define "edbench.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "edbench.labels" -}}
app.kubernetes.io/name: edbench
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "edbench.selector" -}}
app.kubernetes.io/name: edbench
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "edbench.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Databases and broker without logins: each role reads its own from a file. */}}
{{- define "edbench.databases" -}}
{{- if .Values.postgresql.bundled -}}
{{- range $n := untilStep 1 (int (add1 .Values.postgresql.servers)) 1 -}}
{{ if gt $n 1 }},{{ end }}db{{ $n }}=postgresql+psycopg2://{{ include "edbench.name" $ }}-db{{ $n }}:5432/edbench_db{{ $n }}
{{- end -}}
{{- else -}}
{{ required "postgresql.databases is required where postgresql.bundled is false" .Values.postgresql.databases }}
{{- end -}}
{{- end }}

{{- define "edbench.broker" -}}
{{- if .Values.broker.bundled -}}
redis://{{ include "edbench.name" . }}-broker:6379/0
{{- else -}}
{{ required "broker.url is required where broker.bundled is false" .Values.broker.url }}
{{- end -}}
{{- end }}

{{- define "edbench.env" -}}
- {name: EDBENCH_DATABASES, value: {{ include "edbench.databases" . | quote }}}
- {name: EDBENCH_BROKER, value: {{ include "edbench.broker" . | quote }}}
- {name: EDBENCH_LOGIN_FILE, value: /secrets/login}
- {name: EDBENCH_STORAGE, value: {{ .Values.storage.path | quote }}}
- {name: EDBENCH_SCRATCH, value: /scratch}
- {name: EDBENCH_SLOTS, value: {{ .Values.worker.slots | quote }}}
- {name: EDBENCH_SLOT_MEMORY_MB, value: {{ .Values.worker.slotMemoryMb | quote }}}
- {name: EDBENCH_METRICS_PORT, value: "9464"}
- {name: EDBENCH_METRICS_ADDRESS, value: 0.0.0.0}
{{- if or .Values.evidence.existingClaim .Values.evidence.hostPath }}
- {name: EDBENCH_EVIDENCE, value: {{ .Values.evidence.path | quote }}}
- {name: EDBENCH_CORPORA, value: {{ .Values.evidence.path | quote }}}
{{- end }}
{{- range $name, $value := .Values.env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* Of every pod and container: no privileges, as in docker-compose.yml. */}}
{{- define "edbench.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .group }}
  fsGroup: {{ .group }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "edbench.container" -}}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "edbench.ours" -}}
image: {{ include "edbench.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "edbench.container" . }}
{{- end }}

{{- define "edbench.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: shm, mountPath: /dev/shm}
- {name: scratch, mountPath: /scratch}
- {name: storage, mountPath: {{ .Values.storage.path | quote }}}
{{- if or .Values.evidence.existingClaim .Values.evidence.hostPath }}
- {name: evidence, mountPath: {{ .Values.evidence.path | quote }}, readOnly: true}
{{- end }}
{{- end }}

{{- define "edbench.volumes" -}}
- {name: tmp, emptyDir: {}}
- {name: shm, emptyDir: {medium: Memory, sizeLimit: 256Mi}}
- {name: scratch, emptyDir: {sizeLimit: {{ .scratch }}}}
- name: storage
{{- with .root.Values.storage }}
{{- if .hostPath }}
  hostPath: {path: {{ .hostPath | quote }}, type: Directory}
{{- else }}
  persistentVolumeClaim: {claimName: {{ .existingClaim | default (printf "%s-storage" (include "edbench.name" $.root)) }}}
{{- end }}
{{- end }}
{{- with .root.Values.evidence }}
{{- if .hostPath }}
- name: evidence
  hostPath: {path: {{ .hostPath | quote }}, type: Directory}
{{- else if .existingClaim }}
- name: evidence
  persistentVolumeClaim: {claimName: {{ .existingClaim }}, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{/* Queue manager and workers start once the controller has brought the databases to this version. */}}
{{- define "edbench.wait" -}}
- name: wait-for-controller
  {{- include "edbench.ours" . | nindent 2 }}
  command:
    - python
    - -c
    - |
      import time, urllib.request
      while True:
          try:
              urllib.request.urlopen("http://{{ include "edbench.name" . }}-controller:{{ .Values.controller.service.port }}/api/v1/health", timeout=5)
              break
          except OSError:
              time.sleep(2)
{{- end }}

{{/* A password: the given one, the one of an earlier installation, or a new one. */}}
{{- define "edbench.password" -}}
{{- $held := lookup "v1" "Secret" .root.Release.Namespace (printf "%s-passwords" (include "edbench.name" .root)) -}}
{{- if .given -}}
{{- if not (regexMatch "^[A-Za-z0-9._~-]{16,}$" .given) }}{{ fail (printf "secrets.%s must have at least 16 characters: letters, digits and . _ ~ -" .name) }}{{ end -}}
{{ .given }}
{{- else if and $held (hasKey $held.data .name) -}}
{{ index $held.data .name | b64dec }}
{{- else -}}
{{ randAlphaNum 48 }}
{{- end -}}
{{- end }}

{{/* The logins of several roles: for what creates them, at the broker or with the superuser's password at the databases. */}}
{{- define "edbench.logins" -}}
- name: logins
  projected:
    defaultMode: 0440
    sources:
      {{- $name := include "edbench.name" .root }}
      {{- range $role := .roles }}
      - secret: {name: {{ $name }}-{{ $role | replace "_" "-" }}, items: [{key: login, path: {{ $role }}/login}]}
      {{- end }}
      {{- if .superuser }}
      - secret: {name: {{ $name }}-database, items: [{key: password, path: database/password}]}
      {{- end }}
{{- end }}

{{/* The secret of one role. */}}
{{- define "edbench.secret" -}}
- name: secret
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
