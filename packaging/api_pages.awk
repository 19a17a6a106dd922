# awk -v out=FOLDER -v date=DATE -v version=VERSION -f api_pages.awk ums.h umsnt.h workerfactory.h
#
# The man pages of the API, section 3, from the comments of the public headers: one page for each group of functions, and
# for each function a page that leads there. Fails if a function is in no group, or if a group names one that no header has.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

BEGIN {
    group( "ums_completion_list", "lists of workers that can be run again",
           "CreateUmsCompletionList DeleteUmsCompletionList GetUmsCompletionListEvent " \
           "DequeueUmsCompletionListItems GetNextUmsListItem" )
    group( "ums_thread_context", "contexts of UMS workers",
           "CreateUmsThreadContext DeleteUmsThreadContext QueryUmsThreadInformation SetUmsThreadInformation" )
    group( "ums_scheduler", "run UMS workers on a scheduler thread",
           "EnterUmsSchedulingMode ExecuteUmsThread UmsThreadYield GetCurrentUmsThread GetUmsSystemThreadInformation" )
    group( "ums_rtl", "User-Mode Scheduling as ntdll exports it",
           "RtlCreateUmsCompletionList RtlDeleteUmsCompletionList RtlGetUmsCompletionListEvent " \
           "RtlDequeueUmsCompletionListItems RtlGetNextUmsListItem RtlCreateUmsThreadContext RtlDeleteUmsThreadContext " \
           "RtlQueryUmsThreadInformation RtlSetUmsThreadInformation RtlGetCurrentUmsThread RtlEnterUmsSchedulingMode " \
           "RtlExecuteUmsThread RtlUmsThreadYield NtUmsThreadYield ZwUmsThreadYield" )
    group( "worker_factory", "worker factories, the system calls below the Windows thread pool",
           "NtCreateWorkerFactory NtQueryInformationWorkerFactory NtSetInformationWorkerFactory NtShutdownWorkerFactory " \
           "NtReleaseWorkerFactoryWorker NtWorkerFactoryWorkerReady NtWaitForWorkViaWorkerFactory " \
           "ZwCreateWorkerFactory ZwQueryInformationWorkerFactory ZwSetInformationWorkerFactory ZwShutdownWorkerFactory " \
           "ZwReleaseWorkerFactoryWorker ZwWorkerFactoryWorkerReady ZwWaitForWorkViaWorkerFactory" )
}

function group( page, title, names,    list, i, n )
{
    pages[++page_count] = page
    titles[page] = title
    functions[page] = names
    n = split( names, list, " " )
    for (i = 1; i <= n; i++) page_of[list[i]] = page
}

function fail( text )
{
    print "api_pages.awk: " text > "/dev/stderr"
    failed = 1
    exit 1
}

# ---- headers: comments, and what stands directly below them ----

FNR == 1 { header = FILENAME; sub( /.*\//, "", header ); about = 1; comment = ""; open = 0; declaration = "" }

/^\/\*/ { open = 1; comment = "" }

open {
    line = $0
    closes = line ~ /\*\//
    sub( / *\*\/.*$/, "", line )
    sub( /^ ?\/?\*+ ?/, "", line )
    sub( /^ +/, "", line )
    comment = comment line "\n"
    if (!closes) next
    open = 0
    if (about) intro[header] = comment          # the first one is about the header
    about = 0
    next
}

/^$/ { comment = "" }

declaration != "" || /^[A-Z_ ]+.* (WINAPI|NTAPI) [A-Za-z]+\(/ {
    if ($0 ~ /^typedef/) next
    line = $0
    sub( /^ +/, " ", line )
    declaration = declaration line
    if (declaration ~ /\);/) { declare( declaration ); declaration = "" }
}

function declare( text,    name )
{
    name = text
    sub( /\(.*/, "", name )
    sub( /.* /, "", name )
    if (!(name in page_of)) fail( header ": " name " is in no group" )
    if (comment == "" && name !~ /^Zw/) fail( header ": " name " has no comment" )
    prototype[name] = text
    said[name] = comment
    header_of[page_of[name]] = header
}

# ---- pages ----

# Nothing in it is a command of the formatter's.
function text_of( text )
{
    sub( /\n+$/, "", text )
    gsub( /\\/, "\\e", text )
    text = "\n" text
    gsub( /\n\./, "\n\\\\\\&.", text )
    gsub( /\n'/, "\n\\\\\\&'", text )
    return substr( text, 2 )
}

function synopsis( name, file,    text, type, list, i, n )
{
    text = prototype[name]
    type = text
    sub( " " name "\\(.*", "", type )
    sub( /^[^(]*\( */, "", text )
    sub( / *\);.*/, "", text )
    n = split( text, list, / *, */ )
    print ".Ft \"" type "\"" > file
    print ".Fo " name > file
    for (i = 1; i <= n; i++) print ".Fa \"" list[i] "\"" > file
    print ".Fc" > file
}

# What a header says of itself, without its first paragraph, which is the title, and the licence
function description( text,    list, i, n, all )
{
    n = split( text, list, "\n\n" )
    for (i = 2; i <= n; i++) if (list[i] ~ /[^ \n]/ && list[i] !~ /Copyright/)
        all = all (all ? "\n.Pp\n" : "") text_of( list[i] )
    return all
}

function write_page( page,    file, list, i, n, text )
{
    file = out "/" page ".3"
    n = split( functions[page], list, " " )
    print ".\\\" Made of the comments of " header_of[page] " by packaging/api_pages.awk" > file
    print ".Dd " date "\n.Dt " toupper( page ) " 3\n.Os ums " version "\n.Sh NAME" > file
    print ".Nm " page " ," > file
    for (i = 1; i <= n; i++)
    {
        if (!(list[i] in prototype)) fail( "no header has " list[i] )
        print ".Nm " list[i] (i < n ? " ," : "") > file
    }
    print ".Nd " titles[page] "\n.Sh SYNOPSIS\n.In " header_of[page] > file
    print ".na" > file                          # groff 1.23 warns of a line that it cannot stretch
    for (i = 1; i <= n; i++) if (list[i] !~ /^Zw/) synopsis( list[i], file )
    print ".ad" > file
    print ".Sh DESCRIPTION\n" description( intro[header_of[page]] ) > file
    for (i = 1; i <= n; i++)
    {
        if (said[list[i]] == "") continue
        text = ""
        while (i < n && said[list[i + 1]] == said[list[i]]) { text = text list[i] ", "; i++ }
        print ".Ss " text list[i] > file
        print text_of( said[list[i]] ) > file
    }
    print ".Sh FILES\n.Bl -tag -width 4n\n.It Pa /usr/x86_64-w64-mingw32/include/" header_of[page] > file
    print "the declarations, with the structures, constants and their layout\n.El\n.Sh SEE ALSO" > file
    for (i = 1; i <= page_count; i++) if (pages[i] != page) print ".Xr " pages[i] " 3 ," > file
    print ".Xr umsrun 1" > file
    close( file )
    for (i = 1; i <= n; i++)
    {
        print ".so man3/" page ".3" > (out "/" list[i] ".3")
        close( out "/" list[i] ".3" )
    }
}

END { if (!failed) for (p = 1; p <= page_count; p++) write_page( pages[p] ) }
