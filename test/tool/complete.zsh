# Completes a command line in an interactive zsh, as its user would with the tab key, and prints
# the line that results and the choices that zsh offers, one a line.
#
#     zsh -f test/tool/complete.zsh FOLDER LINE
#
# FOLDER has the file _colimit.
zmodload zsh/zpty
setup=$(mktemp)
trap 'rm -f $setup' EXIT
cat >$setup <<END
stty columns 200 rows 1000
PS1= LISTMAX=1000
fpath=(${(q)1} \$fpath)
autoload -U compinit
compinit -D -u
zstyle ':completion:*' verbose no
show() { print -r -- "line:\$BUFFER"; print end; exit }
zle -N show
bindkey '^G' show
print ready
END
seen=
wait_for() {
    local part
    while zpty -r shell part; do
        seen+=$part
        [[ $part == *$1* ]] && return
    done
    print -r -- "no $1: $seen" >&2
    return 1
}
zpty shell zsh -f -i
zpty -w shell "source ${(q)setup}"
wait_for ready || exit 1
seen=
zpty -n -w shell "$2"$'\t\C-g'
wait_for end || exit 1
print -r -- "$seen" | sed -e 's/\x1b\[[0-9;?]*[a-zA-Z]//g' -e 's/\r//g'
