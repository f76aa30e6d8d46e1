# Completion of queuectl in bash: queuectl asks its store what could stand at the cursor.
# Printed by `queuectl completion bash`.

_queuectl() {
    local answer word code
    COMPREPLY=()
    answer=$(
        export COMP_LINE COMP_POINT _ARGCOMPLETE=1 _ARGCOMPLETE_SHELL=bash _ARGCOMPLETE_IFS=$'\v'
        export _ARGCOMPLETE_SUPPRESS_SPACE=1 _ARGCOMPLETE_COMP_WORDBREAKS=$COMP_WORDBREAKS
        "${COMP_WORDS[0]/#\~/$HOME}" 8>&1 9>/dev/null >/dev/null 2>&1 </dev/null
    )
    code=$?
    while IFS= read -r -d $'\v' word || [[ -n $word ]]; do
        COMPREPLY+=("$word")
    done < <(printf '%s' "$answer")
    if [[ $code == 3 ]]; then
        compopt -o default 2>/dev/null
    elif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/:,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -F _queuectl queuectl
