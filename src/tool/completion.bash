# Completion of colimit in bash. It has every command and option of the help, as test/tool/keys
# requires.

_colimit() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local limit='--rule --policies --policy' words='' files=''
    local server='--server --prefix --timeout --verbose --ca-file --cert-file --key-file
        --server-name'
    local calls='--hash-tags --mode --server-module'
    local call="$limit --packed $server $calls"
    local commands='check peek charge refund reset block inspect top lint replay simulate load
        print-library'
    COMPREPLY=()
    ((COMP_CWORD > 1)) || command=
    case $command in
    check) words="$call --cost --at-least --member --request" ;;
    peek) words="$call --cost --at-least --member" ;;
    charge) words="$call --cost --member --request" ;;
    refund) words="$call --cost --request" ;;
    reset) words=$call ;;
    block) words="$call --for" ;;
    inspect) words="$call --scan" ;;
    top) words="$limit $server --interval --rounds --count --scan" ;;
    lint) files=yes ;;
    replay)
        words="$limit --format --key-field --time-field --server --svg --top --width --ascii"
        files=yes
        ;;
    simulate) words='--rule --svg --width --ascii' ;;
    load) words="$limit $server $calls --callers --keys --seconds" ;;
    print-library) ;;
    help) words=$commands ;;
    *) words="$commands help --version" ;;
    esac
    [[ $command == help ]] || words+=' --help'
    [[ -z $command || $command == help ]] || words+=' --json'
    [[ $cur != -* ]] || files=
    case $prev in
    --mode) words='script function multi' files= ;;
    --server-module) words='if_available required never' files= ;;
    --format) words='access json' files= ;;
    --policies | --svg | --*-file) files=yes ;;
    --packed | --ascii | --json | --help) ;;
    --*) return ;;
    esac
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    fi
}
complete -F _colimit colimit
