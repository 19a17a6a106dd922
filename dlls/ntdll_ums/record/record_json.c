/*
 * The record as Trace Event JSON, which Perfetto, chrome://tracing and speedscope open. It depends on no
 * host, heap or C library, because it runs when the process ends.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The rings are merged by time (record_merge.c). For each row (a scheduler or a worker) a small state
 * says which slices are open; an event closes and opens slices. An event that does not fit the state
 * closes nothing. So all events are in order of time, and on each row every slice that begins also ends.
 * The end repeats the name, because speedscope needs it. docs/tracing.md lists the names of slices and
 * their arguments; scripts/umstrace relies on them.
 *
 * A ring that has overflowed has lost its oldest events. Before the latest first event of those rings,
 * the schedule has gaps: a worker would seem ready for seconds because the ring of its scheduler does not
 * go back far enough. So the text begins there ("begins" in otherData). Of earlier events, only the names
 * of rows are used.
 */

#include "record.h"

#define WORKER_ROW 0x10000                      /* row of worker 0; of scheduler n: n */
#define TEXT_SIZE  0x10000
#define LINE_SIZE  0x400

/* Slices of a worker that can be open at the same time, outermost first. */
enum open
{
    OPEN_RUN    = 1,
    OPEN_HOME   = 2,
    OPEN_KERNEL = 4,
    OPEN_OFF    = 8                             /* blocked, queued or ready; never with others */
};

struct worker_row
{
    uint16_t on;                                /* the scheduler whose row shows the worker */
    uint8_t  open;                              /* bits of enum open */
    uint8_t  named;
    uint32_t flow;                              /* the arrow from the last block to the queue; or 0 */
    uint32_t call;                              /* of the open kernel or block slice */
    const char *off;                            /* name of the open OPEN_OFF slice; NULL: its call */
};

struct scheduler_row
{
    uint32_t worker;                            /* the worker with an open slice here, or 0 */
    uint8_t  idle;
    uint8_t  named;
};

static struct worker_row *worker_rows;
static uint32_t worker_count;                   /* rows of workers */
static struct scheduler_row scheduler_rows[0x10000];
static uint32_t flows;

static char text[TEXT_SIZE];
static size_t text_used;
static int failed, lines;
static int (*write_text)( const char *text, size_t size );

/* ---- text ---- */

static void flush_text( void )
{
    if (text_used && !failed && !write_text( text, text_used )) failed = 1;
    text_used = 0;
}

static void put_char( char c )
{
    if (text_used == TEXT_SIZE) flush_text();
    text[text_used++] = c;
}

static void put( const char *s )
{
    while (*s) put_char( *s++ );
}

static void put_number( uint64_t value )
{
    char digits[20];
    int n = 0;

    do digits[n++] = '0' + value % 10;
    while (value /= 10);
    while (n) put_char( digits[--n] );
}

/* Write a quoted string, without control characters. */
static void put_string( const char *s )
{
    for (put_char( '"' ); *s; s++)
    {
        if (*s == '"' || *s == '\\') put_char( '\\' );
        put_char( (unsigned char)*s < ' ' ? '?' : *s );
    }
    put_char( '"' );
}

/* Microseconds since the start, to the nanosecond. */
static void put_time( uint64_t stamp )
{
    uint64_t ticks = stamp > ums_record->start ? stamp - ums_record->start : 0;
    uint64_t frequency = ums_record->frequency, seconds = ticks / frequency;
    uint64_t ns = seconds * 1000000000 + ticks % frequency * 1000000000 / frequency;

    put_number( ns / 1000 );
    put_char( '.' );
    put_char( '0' + ns / 100 % 10 );
    put_char( '0' + ns / 10 % 10 );
    put_char( '0' + ns % 10 );
}

/* The name of a call, from the list in the record. */
static void put_call( uint32_t call )
{
    static const char *const why[] = { "Unix call", "suspended", "page fault",
                                       "DequeueUmsCompletionListItems",
                                       "NtWaitForWorkViaWorkerFactory", "(no call)" };
    const char *p = ums_record->name, *end = p + ums_record->names;

    if (call >= WHY_UNIX_CALL && call - WHY_UNIX_CALL < sizeof(why) / sizeof(why[0]))
    {
        put( why[call - WHY_UNIX_CALL] );
        return;
    }
    while (p < end)
    {
        uint32_t number = 0;

        while (p < end && *p != ' ') number = number * 10 + (*p++ - '0');
        for (p++; p < end && *p != '\n'; p++) if (number == call) put_char( *p );
        if (number == call) return;
        p++;
    }
    put( "call " );
    put_number( call );
}

/* ---- events of the file ---- */

static void begin_line( const char *ph, uint32_t row )
{
    put( lines++ ? ",\n{\"ph\":\"" : "{\"ph\":\"" );
    put( ph );
    put( "\",\"pid\":" );
    put_number( ums_record->pid );
    put( ",\"tid\":" );
    put_number( row );
}

static void begin_event( const char *ph, uint32_t row, uint64_t stamp )
{
    begin_line( ph, row );
    put( ",\"ts\":" );
    put_time( stamp );
}

/* Give a row its name and its place. thread 0: unknown */
static void name_row( uint32_t row, const char *kind, uint32_t number, uint32_t thread )
{
    begin_line( "M", row );
    put( ",\"name\":\"thread_name\",\"args\":{\"name\":\"" );
    put( kind );
    put_number( number );
    if (thread)
    {
        put( " (thread " );
        put_number( thread );
        put_char( ')' );
    }
    put( "\"}}" );
    begin_line( "M", row );
    put( ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" );
    put_number( row );
    put( "}}" );
}

static void begin_slice( uint32_t row, uint64_t stamp, const char *cat, const char *name )
{
    begin_event( "B", row, stamp );
    put( ",\"cat\":\"" );
    put( cat );
    put( "\",\"name\":\"" );
    put( name );
}

static void begin_call( uint32_t row, uint64_t stamp, const char *cat, uint32_t call )
{
    begin_slice( row, stamp, cat, "" );
    put_call( call );
    put( "\"}" );
}

/* Write the end of a slice up to its name; the caller writes the name and the rest. */
static void end_slice( uint32_t row, uint64_t stamp )
{
    begin_event( "E", row, stamp );
    put( ",\"name\":\"" );
}

static void end_idle( uint32_t scheduler, uint64_t stamp )
{
    end_slice( scheduler, stamp );
    put( "idle\"}" );
}

static void put_flow( const char *ph, uint32_t row, uint64_t stamp, uint32_t flow )
{
    begin_event( ph, row, stamp );
    put( ",\"cat\":\"block\",\"name\":\"block\",\"id\":" );
    put_number( flow );
    put( *ph == 'f' ? ",\"bp\":\"e\"}" : "}" );
}

/* ---- rows ---- */

static struct worker_row *worker_row( uint32_t worker )
{
    struct worker_row *w = &worker_rows[worker];

    if (!w->named) name_row( WORKER_ROW + worker, "worker ", worker, 0 );
    w->named = 1;
    return w;
}

static struct scheduler_row *scheduler_row( uint32_t scheduler )
{
    struct scheduler_row *s = &scheduler_rows[scheduler];

    if (!s->named) name_row( scheduler, "scheduler ", scheduler, 0 );
    s->named = 1;
    return s;
}

static void put_slice_name( const struct worker_row *w, unsigned int open )
{
    if (open == OPEN_RUN)
    {
        put( "scheduler " );
        put_number( w->on );
    }
    else if (open == OPEN_HOME) put( "at home" );
    else if (open == OPEN_OFF && w->off) put( w->off );
    else put_call( w->call );
}

/* Call this before w->on is cleared: the name of the run slice contains it. */
static void close_worker( uint32_t worker, uint64_t stamp, unsigned int which )
{
    struct worker_row *w = &worker_rows[worker];
    unsigned int open;

    for (open = OPEN_OFF; open; open >>= 1)
    {
        if (!(w->open & which & open)) continue;
        end_slice( WORKER_ROW + worker, stamp );
        put_slice_name( w, open );
        put( "\"}" );
    }
    w->open &= ~which;
}

/* The worker leaves its scheduler; end is the reason. */
static void close_run( uint32_t worker, uint64_t stamp, const char *end, const uint32_t *call )
{
    struct worker_row *w = &worker_rows[worker];

    close_worker( worker, stamp, ~0u );
    if (!w->on) return;
    end_slice( w->on, stamp );
    put( "worker " );
    put_number( worker );
    put( "\",\"args\":{\"end\":\"" );
    put( end );
    if (call)
    {
        put( "\",\"call\":\"" );
        put_call( *call );
    }
    put( "\"}}" );
    scheduler_rows[w->on].worker = 0;
    w->on = 0;
}

static void close_scheduler( uint32_t scheduler, uint64_t stamp )
{
    struct scheduler_row *s = &scheduler_rows[scheduler];

    if (s->worker) close_run( s->worker, stamp, "unknown", NULL );
    if (s->idle) end_idle( scheduler, stamp );
    s->idle = 0;
}

static void open_off( uint32_t worker, uint64_t stamp, const char *name )
{
    begin_slice( WORKER_ROW + worker, stamp, name, name );
    put( "\"}" );
    worker_rows[worker].open = OPEN_OFF;
    worker_rows[worker].off = name;
}

static void do_execute( uint32_t scheduler, uint32_t worker, uint64_t stamp )
{
    struct scheduler_row *s = scheduler_row( scheduler );
    struct worker_row *w = worker_row( worker );

    close_scheduler( scheduler, stamp );
    close_run( worker, stamp, "unknown", NULL );
    begin_slice( scheduler, stamp, "run", "worker " );
    put_number( worker );
    put( "\",\"args\":{\"worker\":" );
    put_number( worker );
    put( "}}" );
    begin_slice( WORKER_ROW + worker, stamp, "run", "scheduler " );
    put_number( scheduler );
    put( "\",\"args\":{\"scheduler\":" );
    put_number( scheduler );
    put( "}}" );
    w->open = OPEN_RUN;
    w->on = scheduler;
    s->worker = worker;
}

static void do_block( uint32_t worker, uint64_t stamp, uint32_t call )
{
    struct worker_row *w = worker_row( worker );

    if (w->on)
    {
        w->flow = ++flows;
        put_flow( "s", w->on, stamp, w->flow );
    }
    close_run( worker, stamp, "block", &call );
    begin_call( WORKER_ROW + worker, stamp, "block", call );
    w->open = OPEN_OFF;
    w->off = NULL;
    w->call = call;
}

static void do_queue( uint32_t worker, uint64_t stamp )
{
    struct worker_row *w = worker_row( worker );

    close_run( worker, stamp, "unknown", NULL );
    open_off( worker, stamp, "queued" );
    if (w->flow) put_flow( "f", WORKER_ROW + worker, stamp, w->flow );
    w->flow = 0;
}

static void do_kernel( uint32_t worker, uint64_t stamp, uint32_t call )
{
    struct worker_row *w = worker_row( worker );

    if (!(w->open & OPEN_RUN) || (w->open & OPEN_KERNEL)) return;
    begin_call( WORKER_ROW + worker, stamp, "kernel", call );
    w->open |= OPEN_KERNEL;
    w->call = call;
}

static void do_home( uint32_t worker, uint64_t stamp )
{
    struct worker_row *w = worker_row( worker );

    if (w->open != OPEN_RUN) return;
    begin_slice( WORKER_ROW + worker, stamp, "home", "at home\"}" );
    w->open |= OPEN_HOME;
}

static void do_idle( uint32_t scheduler, uint64_t stamp, uint32_t call )
{
    struct scheduler_row *s = scheduler_row( scheduler );

    if (s->idle || s->worker) return;
    begin_slice( scheduler, stamp, "idle", "idle\",\"args\":{\"call\":\"" );
    put_call( call );
    put( "\"}}" );
    s->idle = 1;
}

static void do_dequeue( uint32_t scheduler, uint32_t worker, uint64_t stamp )
{
    if (scheduler && scheduler_row( scheduler )->idle && !scheduler_rows[scheduler].worker)
        close_scheduler( scheduler, stamp );
    close_run( worker, stamp, "unknown", NULL );
    worker_row( worker );
    open_off( worker, stamp, "ready" );
}

static void do_worker_event( const struct ums_event *event, uint64_t stamp )
{
    uint64_t what = atomic_load_explicit( &event->what, memory_order_relaxed );
    uint32_t scheduler = EVENT_SCHEDULER( what ), worker = EVENT_WORKER( what );

    if (worker >= worker_count) return;         /* an incomplete event */
    switch (EVENT_KIND( what ))
    {
    case EVENT_START:
        if (!worker_rows[worker].named)
            name_row( WORKER_ROW + worker, "worker ", worker, EVENT_ARG( what ) << 16 | scheduler );
        worker_rows[worker].named = 1;
        break;
    case EVENT_EXECUTE: do_execute( scheduler, worker, stamp ); break;
    case EVENT_HOME:    do_home( worker, stamp ); break;
    case EVENT_KERNEL:  do_kernel( worker, stamp, EVENT_ARG( what ) ); break;
    case EVENT_BACK:    close_worker( worker, stamp, OPEN_KERNEL ); break;
    case EVENT_BLOCK:   do_block( worker, stamp, EVENT_ARG( what ) ); break;
    case EVENT_QUEUE:   do_queue( worker, stamp ); break;
    case EVENT_DEQUEUE: do_dequeue( scheduler, worker, stamp ); break;
    case EVENT_END:     close_run( worker, stamp, "end", NULL ); break;
    case EVENT_YIELD:
        worker_row( worker );
        close_run( worker, stamp, "yield", NULL );
        open_off( worker, stamp, "ready" );
        break;
    }
}

static void do_event( const struct ums_event *event )
{
    uint64_t what = atomic_load_explicit( &event->what, memory_order_relaxed );
    uint64_t stamp = atomic_load_explicit( &event->stamp, memory_order_relaxed );
    uint32_t scheduler = EVENT_SCHEDULER( what );

    switch (EVENT_KIND( what ))
    {
    case EVENT_ENTER:
        if (scheduler_rows[scheduler].named) break;
        name_row( scheduler, "scheduler ", scheduler, EVENT_ARG( what ) << 24 | EVENT_WORKER( what ) );
        scheduler_rows[scheduler].named = 1;
        break;
    case EVENT_LEAVE: close_scheduler( scheduler, stamp ); break;
    case EVENT_IDLE:  do_idle( scheduler, stamp, EVENT_ARG( what ) ); break;
    case EVENT_BUSY:
        if (scheduler_rows[scheduler].idle) end_idle( scheduler, stamp );
        scheduler_rows[scheduler].idle = 0;
        break;
    default:
        do_worker_event( event, stamp );
        break;
    }
}

/* ---- the file ---- */

static int names_row( const struct ums_event *event )
{
    uint64_t what = atomic_load_explicit( &event->what, memory_order_relaxed );

    return EVENT_KIND( what ) == EVENT_ENTER || EVENT_KIND( what ) == EVENT_START;
}

/* Make rows for all numbers that were given out, and for number 0. */
static int make_rows( void )
{
    uint32_t given = atomic_load( &ums_record->workers );
    size_t size;

    worker_count = given < RECORD_WORKERS ? given + 1 : RECORD_WORKERS;
    size = worker_count * sizeof(*worker_rows);

    return (worker_rows = ke_reserve( size )) && ke_commit( worker_rows, size );
}

static void put_head( void )
{
    put( "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" );
    begin_line( "M", 0 );
    put( ",\"name\":\"process_name\",\"args\":{\"name\":" );
    put_string( ums_record->program );
    put( "}}" );
}

static void put_tail( uint64_t lost, uint64_t first )
{
    put( "\n],\n\"otherData\":{\"producer\":\"ums\",\"format\":1,\"about\":" );
    put_string( ums_record->about );
    put( ",\"lost\":" );
    put_number( lost );
    if (first)
    {
        put( ",\"begins\":" );
        put_time( first );
    }
    put( "}}\n" );
}

int ums_record_write( int (*write)( const char *text, size_t size ) )
{
    uint64_t lost, last = 0, first;
    const struct ums_event *event;
    uint32_t i;

    write_text = write;
    if (!make_rows()) return 0;
    lost = ums_record_merge( &first );
    put_head();
    while ((event = ums_record_next()))
    {
        last = atomic_load_explicit( &event->stamp, memory_order_relaxed );
        if (last >= first || names_row( event )) do_event( event );
        else lost++;
    }
    for (i = 0; i < 0x10000; i++) close_scheduler( i, last );
    for (i = 0; i < worker_count; i++) close_worker( i, last, ~0u );
    put_tail( lost, first );
    flush_text();
    return !failed;
}
