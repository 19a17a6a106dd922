/*
 * A local mutant that becomes real while threads own it, wait for it and end: core/mutants.c and
 * syscalls/objects/mutant_keeper.c as a model for spin.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One atomic step is what is done with the lock of the objects held, or one request to the wineserver. Waits are not
 * modelled one by one (objects.pml has them): who waits takes the mutant when it can, here or at the host.
 *
 * At no time two threads are inside. Whoever has released the mutant does not find a keeper at the host. Each end of an
 * owner is told to one later owner, and nobody else is told. When nothing can happen any more, all have ended.
 *
 *   TAKERS      threads that take it, twice each, and release it
 *   ROUNDS      so often
 *   DIES        the first so many end as owners, in their last round
 *   EXPOSERS    threads that make it real
 */

#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef DIES
#define DIES 0
#endif
#ifndef EXPOSERS
#define EXPOSERS 1
#endif
#define KEEPER 10                               /* and the number of who has made it */

mtype = { NONE, ACQUIRES, HOLDS, RELEASES, ENDS, ENDED };

/* ours, with the lock */
byte owner, owned;
bool abandoned, real, transfer, stale;
byte kept_for, kept_owned, kept_by;
mtype keeper[EXPOSERS + 1] = NONE;

/* the host's */
byte host, host_owned;
bool host_abandoned;

byte inside, told, died, left = TAKERS + EXPOSERS;

/* A keeper that ends is finished when its thread is: the host has its mutant back then. */
proctype Keeper( byte self )
{
end:
    do
    :: atomic { keeper[self] == ACQUIRES ->
            assert( !host ); host = KEEPER + self; host_abandoned = false; keeper[self] = HOLDS }
    :: atomic { keeper[self] == RELEASES -> host = 0; keeper[self] = ENDED }
    :: atomic { keeper[self] == ENDS -> host = 0; host_abandoned = true; keeper[self] = ENDED }
    :: atomic { keeper[self] == ENDED -> keeper[self] = NONE }
    od
}

inline take()
{
    atomic
    {
        if
        :: !real && (!owner || owner == self) ->
            told = told + abandoned; abandoned = false; owner = self; owned++
        :: real && kept_for == self -> kept_owned++
        :: real && kept_for != self && (!host || host == self) ->
            told = told + host_abandoned; host_abandoned = false; host = self; host_owned++
        fi
    }
}

inline wait_for_keeper( number )
{
#ifndef MISTAKE_RELEASED_LATER
    keeper[number] == ENDED || keeper[number] == NONE
#else
    skip
#endif
}

inline release()
{
    last = 0;
    atomic
    {
        if
        :: !real ->
            assert( owner == self );
            owned--;
            if
            :: !owned -> owner = 0
            :: else
            fi
        :: real && kept_for == self ->
            kept_owned--;
            if
            :: !kept_owned -> kept_for = 0; last = kept_by
            :: else
            fi
        :: real && kept_for != self ->
            assert( host == self );
            host_owned--;
            if
            :: !host_owned -> host = 0
            :: else
            fi
        fi
    };
    if
    :: last ->
        keeper[last] = RELEASES;
        wait_for_keeper( last );
        assert( host != KEEPER + last )         /* its poll finds the host's mutant free */
    :: else
    fi
}

/* The end of an owner: what is local, then what a keeper has, then the thread itself. */
inline end()
{
    atomic
    {
        if
        :: !real && owner == self -> owner = 0; owned = 0; abandoned = true
        :: else
        fi
    };
    last = 0;
    atomic
    {
        if
        :: kept_for == self -> kept_for = 0; kept_owned = 0; last = kept_by
        :: else
        fi
    };
#ifndef MISTAKE_KEEPER_STAYS
    if
    :: last -> keeper[last] = ENDS; wait_for_keeper( last )
    :: else
    fi;
#endif
    atomic
    {
        if
        :: host == self -> host = 0; host_owned = 0; host_abandoned = true
        :: else
        fi
    }
}

proctype Taker( byte self )
{
    byte round = 0, last;

    do
    :: round < ROUNDS ->
        take();
        inside++;
        assert( inside == 1 );
        take();
        if
        :: self <= DIES && round == ROUNDS - 1 ->
            atomic { inside--; died++ };
            end();
            break
        :: else
        fi;
        release();
        inside--;
        release();
        round++
    :: else -> break
    od;
    left--
}

/* transfer() and ums_mutant_to_keeper() */
proctype Exposer( byte self )
{
    bool plain, hands_over;

again:
    atomic
    {
        if
        :: real -> goto done
#ifdef MISTAKE_NO_KEEPER
        :: !real -> real = true; owner = 0; owned = 0; goto done
#endif
        :: !real && !owner && !abandoned && !transfer && !stale -> real = true; goto done
#ifndef MISTAKE_NO_TRANSFER
        :: !real && transfer -> (!transfer || real); goto again
#endif
        :: else -> transfer = true; plain = owner || stale
        fi
    };
    atomic { keeper[self] == NONE -> keeper[self] = ACQUIRES };
    keeper[self] == HOLDS;
    if
    :: !plain ->
        keeper[self] = ENDS;
        keeper[self] == ENDED || keeper[self] == NONE;
        atomic
        {
            transfer = false;
            if
            :: !owner && abandoned -> abandoned = false; real = true; goto done
#ifdef MISTAKE_STALE
            :: else -> goto again
#else
            :: else -> stale = true; goto again
#endif
            fi
        }
    :: else ->
        atomic
        {
            stale = false;
            hands_over = owner != 0;
            if
            :: hands_over ->
                kept_for = owner; kept_owned = owned; kept_by = self;
                owner = 0; owned = 0; real = true; transfer = false;
                goto done
            :: else
#ifdef MISTAKE_TRANSFER_ENDS_EARLY
                -> transfer = false
#endif
            fi
        };
        keeper[self] = RELEASES;
        keeper[self] == ENDED || keeper[self] == NONE;
        transfer = false;
        goto again
    fi;
done:
    left--
}

proctype Judge()
{
    atomic { !left ->
        assert( !inside && !owner && !kept_for );
        assert( told + (real -> host_abandoned : abandoned) <= died );
        assert( died == 0 || told + (real -> host_abandoned : abandoned) > 0 ) }
}

init
{
    byte i;

    atomic
    {
        i = 1;
        do
        :: i <= EXPOSERS -> run Keeper( i ); run Exposer( i ); i++
        :: else -> break
        od;
        i = 1;
        do
        :: i <= TAKERS -> run Taker( i ); i++
        :: else -> break
        od;
        run Judge()
    }
}
