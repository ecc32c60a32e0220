#!/usr/bin/env bash
# Every row of docs/TUTORIALS.md: its command prints its text. TUTORIALS_PART="2 of 3" takes each third command from the
# second on; together the parts take all.
. "$(dirname "$0")/cli_lib.sh"

"$tessera" explain tiled >/dev/null 2>&1 || exit 77
ln -s "$source_folder/perf" "$source_folder/examples" . # as at the top of the tree
read -r part _ parts <<<"${TUTORIALS_PART:-1 of 1}"
# A text as an extended regular expression: a * between blanks is any word.
pattern_of() {
    sed 's/[][\\.*^$+?(){}|]/\\&/g; s/ \\\* / [^ ]+ /g' <<<"$1"
}
rows=0
commands=0
last=
takes=0
# Cells stand between bars; command and text between back quotes.
while IFS='|' read -r _ what command text _; do
    command=$(sed 's/^ *`tessera \(.*\)` *$/\1/' <<<"$command")
    text=$(sed 's/^ *`\(.*\)` *$/\1/' <<<"$text")
    rows=$((rows + 1))
    if [ "$command" != "$last" ]; then
        commands=$((commands + 1))
        last=$command
        takes=0
        if [ $((commands % parts)) = $((part % parts)) ] && sampled 2; then
            takes=1
            # shellcheck disable=SC2086 # words of a command line
            "$tessera" $command >out 2>err || fail "tessera $command: $(cat err)"
            tr -s ' \n' ' ' <out >flat
        fi
    fi
    [ $takes = 1 ] || continue
    checks=$((checks + 1))
    grep -qE -- "$(pattern_of "$text")" flat ||
        fail "$what: tessera $command does not print \"$text\": $(head -c 800 out)"
done < <(grep '^|.*`tessera ' "$source_folder/docs/TUTORIALS.md")
succeeds [ $rows -ge 110 ]
finish
