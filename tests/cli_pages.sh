#!/usr/bin/env bash
# Man pages and completions: every command and option of --help is in them, shells take them and offer the right words.
. "$(dirname "$0")/cli_lib.sh"
pages=$(dirname "$tessera")/pages
[ -d "$pages" ] || {
    echo "skipped: no pages were built"
    exit 77
}
commands=$("$tessera" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || fail "no commands"

options_of() { "$tessera" "$1" --help | sed -nE 's/^  (-[a-z], )?(--[a-z-]+).*/\2/p'; }

for command in $commands; do
    page=$pages/tessera-$command.1
    for option in $(options_of $command); do
        checks=$((checks + 3))
        tr -d '\\' <"$page" | grep -- "$option" >/dev/null || fail "$option is not in $page"
        grep -Fq -- "$option" "$pages/tessera.bash" || fail "$option is not in tessera.bash"
        grep -q -- "seen_subcommand_from $command' -l ${option#--}" "$pages/tessera.fish" || fail "$command $option is not in tessera.fish"
    done
    succeeds grep -q "^\.BR tessera.-$command (1)" "$pages/tessera.1"
done
if command -v man >/dev/null; then
    for page in "$pages"/*.1; do
        checks=$((checks + 1))
        LC_ALL=C.UTF-8 MANROFFSEQ= man --warnings -E UTF-8 -l -Tutf8 "$page" >rendered 2>warnings || fail "man cannot show $page"
        [ -s rendered ] && [ ! -s warnings ] || fail "$page: $(cat warnings)"
    done
fi

# bash: what is offered after these words, of which the last is being typed.
offered() { # WORDS...
    bash -c '. "$0"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _tessera
        printf "%s\n" "${COMPREPLY[@]}"' "$pages/tessera.bash" "$@" | sort | tr '\n' ' '
}
offers() { # EXPECTED WORDS...
    local expected=$1 found
    shift
    checks=$((checks + 1))
    found=$(offered "$@")
    [ "$found" = "$expected" ] || fail "bash offers \"$found\" after $*, not \"$expected\""
}
mkdir here && cd here || exit 1 # of its files alone
touch A.npy B.npy
offers "roofline route run " tessera r
offers "run " tessera help ru
offers "bf16 e4m3 e5m2 f16 f32 f64 s32 s8 u8 " tessera run A.npy --dtype ""
offers "f32 " tessera run A.npy --dtype = f3
offers "f32 " tessera route 5 5 5 --dtype f32
offers "--device --dtype --dtype-b " tessera run --d
offers "$(printf '%s\n' auto cpu cuda:0 emu ${gpus//,/} | LC_ALL=C sort | tr '\n' ' ')" tessera route --device ""
offers "auto cpu cuda:0 emu " tessera run --device ""
offers "A.npy B.npy " tessera run ""
offers "B.npy " tessera run A.npy -o B
offers "mma mma-f64 mma-int8 mma-tma " tessera profile mm
offers " " tessera run --alpha ""
offers "naive,mma naive,mma-f64 naive,mma-int8 naive,mma-tma " tessera verify --kernel naive,mm
offers "f32,bf16 " tessera bench --dtype f32,b
offers " " tessera run --device cpu,e # takes one
# Names with blanks stay whole. try takes an exercise or a kernel of one's own, which may lie in a folder.
mkdir ../own && cd ../own && mkdir "my folder" && touch "my kernel.cu" "my notes.txt" naive.cu || exit 1
offers "my folder my kernel.cu my notes.txt " tessera run my
offers "my folder my kernel.cu my notes.txt " tessera bench --out my
offers "my folder my kernel.cu " tessera try my
offers "naive-intensity naive-loads naive-sectors naive.cu " tessera try naive

# zsh reads its file, and _arguments gets a specification for each option.
if command -v zsh >/dev/null; then
    for command in $commands; do
        zsh -f -c '_arguments() { print -rl -- "$@" }
            _describe() { print -r -- "$@" }
            compdef() { }
            words=(tessera '$command' "") CURRENT=3
            tessera_completion() { . '"$pages"'/_tessera }
            tessera_completion' >../specifications 2>../err || fail "zsh: $(cat ../err)"
        for option in $(options_of $command); do
            checks=$((checks + 1))
            grep -q -- "$option" ../specifications || fail "zsh gets no $option for $command: $(cat ../err)"
        done
        [ $command != try ] || succeeds grep -q '^::EXERCISE:{_alternative .*naive-loads .*_files -g .*\*\.cu' ../specifications
    done
fi

# fish completes without a terminal.
if command -v fish >/dev/null; then
    fish_offers() { # EXPECTED LINE
        local found
        checks=$((checks + 1))
        found=$(fish --no-config -c "source '$pages/tessera.fish'; complete -C '$2'" | cut -f1 | sort | tr '\n' ' ')
        [ "$found" = "$1" ] || fail "fish offers \"$found\" after $2, not \"$1\""
    }
    fish_offers "roofline route run " "tessera r"
    fish_offers "--device --dtype --dtype-b " "tessera run --d"
    fish_offers "bf16 e4m3 e5m2 f16 f32 f64 s32 s8 u8 " "tessera run --dtype "
    fish_offers "my folder/ my kernel.cu my notes.txt " "tessera run --output my"
    fish_offers "my folder/ my kernel.cu " "tessera try my"
    fish_offers "naive-intensity naive-loads naive-sectors naive.cu " "tessera try naive"
    cd ../here || exit 1
    fish_offers "A.npy B.npy " "tessera run --output "
fi

finish
