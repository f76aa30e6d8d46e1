# Completion of queuectl in fish: queuectl asks its store what could stand at the cursor.
# Printed by `queuectl completion fish`.

function __queuectl_complete
    set -l words (commandline -opc)
    set -lx COMP_LINE (commandline -cp | string collect)
    set -lx COMP_POINT (string length -- $COMP_LINE)
    set -lx _ARGCOMPLETE 1
    set -lx _ARGCOMPLETE_SHELL fish
    set -lx _ARGCOMPLETE_IFS \n
    set -lx _ARGCOMPLETE_DFS \t
    set -lx _ARGCOMPLETE_SUPPRESS_SPACE 1
    $words[1] 8>&1 9>/dev/null >/dev/null 2>&1 </dev/null
    if test $status = 3
        __fish_complete_path (commandline -ct)
    end
end

complete --command queuectl --no-files --arguments '(__queuectl_complete)'
