#!/usr/bin/env bash
# Every row of docs/TUTORIALS.md: its command prints its text.
. "$(dirname "$0")/cli_lib.sh"

"$tessera" explain tiled >/dev/null 2>&1 || exit 77
flat() { tr -s ' \n' ' '; }
rows=0
last=
# Cells stand between bars; command and text between back quotes.
while IFS='|' read -r _ what command text _; do
    command=$(sed 's/^ *`tessera \(.*\)` *$/\1/' <<<"$command")
    text=$(sed 's/^ *`\(.*\)` *$/\1/' <<<"$text")
    rows=$((rows + 1))
    checks=$((checks + 1))
    if [ "$command" != "$last" ]; then
        # shellcheck disable=SC2086 # words of a command line
        "$tessera" $command >out 2>err || fail "tessera $command: $(cat err)"
        last=$command
    fi
    flat <out | grep -qF -- "$text" || fail "$what: tessera $command does not print \"$text\": $(head -c 800 out)"
done < <(grep '^|.*`tessera ' "$source_folder/docs/TUTORIALS.md")
succeeds [ $rows -ge 30 ]
finish
