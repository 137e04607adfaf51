#!/usr/bin/env bash
# Runs probeyard on SOURCES with the inputs of the action, which are in variables: none of them is read as code.
set -euo pipefail

refuse() {
  echo "::error::$1"
  exit 2
}

if [ -n "$URL" ]; then export PROBEYARD_URL=$URL; fi
if [ -n "$TOKEN" ]; then export PROBEYARD_TOKEN=$TOKEN; fi

sources=()
while IFS= read -r line; do
  line="${line#"${line%%[![:space:]]*}"}"
  line="${line%"${line##*[![:space:]]}"}"
  if [ -z "$line" ]; then continue; fi
  if [[ $line != *://* && $line == *[*?[]* && ! -e $line ]]; then
    mapfile -t found < <(compgen -G "$line" | sort)
    if [ ${#found[@]} -eq 0 ]; then refuse "no file matches $line"; fi
    sources+=("${found[@]}")
  else
    sources+=("$line")
  fi
done <<< "$SOURCES"
if [ ${#sources[@]} -eq 0 ]; then refuse 'sources: is required'; fi

arguments=("$COMMAND" --output=github)
case $COMMAND in
  check)
    if [ -z "$POLICY" ]; then refuse 'policy: is required to check files'; fi
    arguments+=("--policy=$POLICY")
    ;;
  hls) ;;
  *) refuse 'command: is check or hls' ;;
esac
if [ -n "$FAIL_ON" ]; then arguments+=("--fail-on=$FAIL_ON"); fi
if [ -n "$JUNIT" ]; then arguments+=("--report=junit=$JUNIT"); fi
if [ -n "$SARIF" ]; then arguments+=("--report=sarif=$SARIF"); fi

code=0
"$RUNNER_TEMP/probeyard/node_modules/.bin/probeyard" "${arguments[@]}" -- "${sources[@]}" || code=$?
case $code in
  0) outcome=passed ;;
  1) outcome=failed ;;
  *) outcome=unknown ;;
esac
echo "outcome=$outcome" >> "$GITHUB_OUTPUT"
exit "$code"
