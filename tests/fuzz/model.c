/*
 * The model of what the core must do. Lists are LIFO until they are taken, and a worker is queued where it was executed
 * last.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <string.h>
#include "fuzz.h"

static struct model models[MODELS];
static struct
{
    struct ums_list *handle;
    int alive;
    struct model *head;
} lists[LISTS];

void model_reset( void )
{
    int i;

    memset( models, 0, sizeof(models) );
    memset( lists, 0, sizeof(lists) );
    for (i = 0; i < MODELS; i++) models[i].index = i;
}

struct model *model_at( int index )
{
    return &models[index];
}

/* ---- contexts ---- */

struct model *model_free( void )
{
    int i;

    for (i = 0; i < MODELS; i++) if (!models[i].alive) return &models[i];
    return NULL;
}

void model_forget( const struct ums_context *context )
{
    int i;

    for (i = 0; i < MODELS; i++) if (models[i].context == context) models[i].context = NULL;
}

void model_new( struct model *m, struct ums_context *context )
{
    model_forget( context );
    memset( m, 0, sizeof(*m) );
    m->index = (int)(m - models);
    m->context = context;
    m->alive = m->terminated = 1;
}

void model_born( struct model *m, int list )
{
    m->list = list;
    m->terminated = 0;
    m->suspended = m->self_suspended = 0;
    m->joined = 0;
    m->gate = 0;
    model_arrives( m );
}

/* ---- lists ---- */

int model_free_list( void )
{
    int i;

    for (i = 0; i < LISTS; i++) if (!lists[i].handle) return i;
    return -1;
}

void model_list_new( int index, struct ums_list *list )
{
    int i;

    for (i = 0; i < LISTS; i++) if (lists[i].handle == list) model_list_forget( i );
    lists[index].handle = list;
    lists[index].alive = 1;
    lists[index].head = NULL;
}

int model_list_alive( int index )
{
    return index >= 0 && lists[index].alive;
}

int some_list_of( int index, void **handle )
{
    *handle = lists[index].handle;
    return lists[index].handle ? index : -1;
}

struct model *model_take( int list )
{
    struct model *m = lists[list].head;

    if (!m) return NULL;
    lists[list].head = m->next;
    m->state = m->state == DEAD_QUEUED ? DEAD : READY;
    return m;
}

/* What is on it can be executed by who knows it. */
void model_list_deleted( int index )
{
    lists[index].alive = 0;
    while (model_take( index )) ;
}

/* Its index is free; those that are still to be queued there will be executable at once. */
void model_list_forget( int index )
{
    int i;

    for (i = 0; i < MODELS; i++) if (models[i].list == index) models[i].list = -1;
    lists[index].handle = NULL;
    lists[index].alive = 0;
}

static void push( struct model *m, enum model_state queued, enum model_state taken )
{
    if (!model_list_alive( m->list ))
    {
        m->state = taken;
        return;
    }
    m->next = lists[m->list].head;
    lists[m->list].head = m;
    m->state = queued;
}

void model_arrives( struct model *m )
{
    push( m, QUEUED, READY );
}

/* ---- workers; what the scheduler that waits will be told ---- */

static void tell( struct slot *s, uint32_t reason, uintptr_t payload, void *param )
{
    fuzz_expect( s->reason == NO_UPCALL, "two upcalls at once", s->reason, reason );
    s->reason = reason;
    s->payload = payload;
    s->param = param;
}

void model_executed( struct model *m, int slot, int list )
{
    m->slot = slot;
    m->list = list;
    m->state = EXECUTED;
}

void model_yields( struct model *m, struct slot *s, void *param )
{
    m->state = READY;
    tell( s, 2, (uintptr_t)m->context, param );
}

void model_blocks( struct model *m, struct slot *s, uintptr_t payload )
{
    m->state = BLOCKED;
    tell( s, 1, payload, NULL );
}

void model_stopped( struct model *m, struct slot *s )
{
    m->state = STOPPED;
    tell( s, 1, 0, NULL );
}

void model_ends( struct model *m, struct slot *s )
{
    m->terminated = 1;
    m->suspended = 0;
    push( m, DEAD_QUEUED, DEAD );
    tell( s, 1, 1, NULL );
}
