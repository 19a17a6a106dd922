# bash completion for umsrun and umstrace
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

_umsrun()
{
    local current=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]}

    if [ "$COMP_CWORD" = 1 ] && [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--info --top --install --uninstall --status --install-prefix
            --uninstall-prefix --prefix-status --wine= --version --help' -- "$current")
        return
    fi
    case $first in
    --install-prefix | --uninstall-prefix | --prefix-status)
        if [[ $first$current == --install-prefix-* ]]; then
            COMPREPLY=(--create)
        else
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
        fi ;;
    --info)
        if [[ $current == -* ]]; then COMPREPLY=(--verbose); else _umsrun_programs "$current"; fi ;;
    --install)
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W '--output --in-place --dlls' -- "$current")
        else
            _umsrun_programs "$current"
        fi ;;
    *)  if [ "$COMP_CWORD" = 1 ] || [[ $first == --* ]]; then
            _umsrun_programs "$current"
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$current")      # the program's own arguments
        fi ;;
    esac
}

# folders, and files that end with .exe in upper or lower case
_umsrun_programs()
{
    mapfile -t COMPREPLY < <(compgen -d -S / -- "$1"; compgen -f -X '!*.[eE][xX][eE]' -- "$1")
}

_umstrace()
{
    local current=${COMP_WORDS[COMP_CWORD]}

    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--check --html --json --recover --help' -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -o filenames -o nospace -F _umsrun umsrun
complete -o filenames -F _umstrace umstrace
