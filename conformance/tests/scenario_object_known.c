/*
 * Scenarios: events that somebody else gets to know, while workers and threads wait for them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a handle has a copy, is inheritable, or is the event of an I/O request or of a socket makes no
 * difference to what the object does [doc]. So no signal is lost or doubled when that happens while
 * others wait.
 */
#define _WIN32_WINNT 0x0602
#include <winsock2.h>
#include "object_kit.h"
#include <winioctl.h>

#ifndef FSCTL_PIPE_LISTEN
#define FSCTL_PIPE_LISTEN CTL_CODE( FILE_DEVICE_NAMED_PIPE, 2, METHOD_BUFFERED, FILE_ANY_ACCESS )
#endif

static HANDLE others;                           /* of a way: a thread or a registered wait, or NULL */

/* ---- sockets ---- */

#define SOCKET_CALLS( X ) \
    X( WSAStartup ) X( WSASocketW ) X( bind ) X( getsockname ) X( sendto ) X( recv ) X( closesocket ) \
    X( WSAEventSelect ) X( WSAEnumNetworkEvents ) X( WSARecv ) X( WSASendTo ) \
    X( WSACreateEvent ) X( WSACloseEvent ) X( WSAWaitForMultipleEvents )
#define X( name ) static __typeof__( name ) *p##name;
SOCKET_CALLS( X )
#undef X

static struct sockaddr_in own_address;

/* A datagram socket that sends to itself. */
static SOCKET open_socket( void )
{
    HMODULE module = LoadLibraryW( L"ws2_32.dll" );
    int size = sizeof(own_address);
    WSADATA data;
    SOCKET s;

#define X( name ) p##name = (void *)GetProcAddress( module, #name );
    SOCKET_CALLS( X )
#undef X
    ok( !pWSAStartup( MAKEWORD( 2, 2 ), &data ), "no sockets\n" );
    s = pWSASocketW( AF_INET, SOCK_DGRAM, IPPROTO_UDP, NULL, 0, WSA_FLAG_OVERLAPPED );
    memset( &own_address, 0, sizeof(own_address) );
    own_address.sin_family = AF_INET;
    own_address.sin_addr.S_un.S_un_b.s_b1 = 127;
    own_address.sin_addr.S_un.S_un_b.s_b4 = 1;
    ok( !pbind( s, (struct sockaddr *)&own_address, sizeof(own_address) ), "not bound\n" );
    ok( !pgetsockname( s, (struct sockaddr *)&own_address, &size ), "no address\n" );
    return s;
}

static void send_to( SOCKET s )
{
    ok( psendto( s, "x", 1, 0, (struct sockaddr *)&own_address, sizeof(own_address) ) == 1, "not sent\n" );
}

/* ---- the ways ---- */

static void by_copy( void )
{
    CloseHandle( copy_of( subject ) );
}

static void by_inheritance( void )
{
    SetHandleInformation( subject, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT );
}

static void by_question( void )
{
    ask_about( subject );
}

static void by_mixed_wait( void )
{
    HANDLE both[2] = { helper, subject };

    WaitForMultipleObjects( 2, both, FALSE, 0 );
}

static void by_alertable_wait( void )
{
    WaitForSingleObjectEx( subject, 0, TRUE );
}

static void by_signal_and_wait( void )
{
    HANDLE other = CreateMutexW( NULL, TRUE, NULL );

    SignalObjectAndWait( other, subject, 0, FALSE );
    CloseHandle( other );
}

static void by_pipe( void )
{
    char name[64];
    HANDLE pipe;
    OVERLAPPED overlapped = { .hEvent = subject };
    BOOL done;

    snprintf( name, sizeof(name), "\\\\.\\pipe\\umstest-%lu", GetCurrentProcessId() );
    pipe = CreateNamedPipeA( name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, 0, 1, 0, 0, 0, NULL );
    done = ConnectNamedPipe( pipe, &overlapped );
    if (!done && GetLastError() == ERROR_IO_PENDING) CancelIo( pipe );          /* signals */
    CloseHandle( pipe );
}

static void by_device_control( void )
{
    OVERLAPPED overlapped = { .hEvent = subject };
    HANDLE pipe, client;
    char name[64];
    DWORD size;

    snprintf( name, sizeof(name), "\\\\.\\pipe\\umstest-%lu", GetCurrentProcessId() );
    pipe = CreateNamedPipeA( name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, 0, 1, 0, 0, 0, NULL );
    ok( !DeviceIoControl( pipe, FSCTL_PIPE_LISTEN, NULL, 0, NULL, 0, &size, &overlapped ) &&
        GetLastError() == ERROR_IO_PENDING, "error %lu\n", GetLastError() );
    client = CreateFileA( name, GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL );
    ok( client != INVALID_HANDLE_VALUE, "not connected, error %lu\n", GetLastError() );
    CloseHandle( client );
    CloseHandle( pipe );
}

/* The handle is in the input buffer of a device call. */
static void by_event_select( void )
{
    SOCKET s = open_socket();

    ok( !pWSAEventSelect( s, subject, FD_READ ), "not selected\n" );
    send_to( s );
    ok( kit_wait_value( &woken, 1 ), "the socket's signal was lost\n" );
    pclosesocket( s );
}

static void by_socket_receive( void )
{
    WSAOVERLAPPED overlapped = { .hEvent = subject };
    SOCKET s = open_socket();
    char byte;
    WSABUF buffer = { 1, &byte };
    DWORD size, flags = 0;

    ok( pWSARecv( s, &buffer, 1, &size, &flags, &overlapped, NULL ) == SOCKET_ERROR &&
        GetLastError() == WSA_IO_PENDING, "error %lu\n", GetLastError() );
    send_to( s );
    ok( kit_wait_value( &woken, 1 ), "the socket's signal was lost\n" );
    pclosesocket( s );
}

static void by_socket_send( void )
{
    WSAOVERLAPPED overlapped = { .hEvent = subject };
    SOCKET s = open_socket();
    WSABUF buffer = { 1, (char *)"x" };
    DWORD size;

    ok( !pWSASendTo( s, &buffer, 1, &size, 0, (struct sockaddr *)&own_address, sizeof(own_address),
                     &overlapped, NULL ) || GetLastError() == WSA_IO_PENDING, "error %lu\n", GetLastError() );
    ok( kit_wait_value( &woken, 1 ), "the socket's signal was lost\n" );
    pclosesocket( s );
}

static DWORD WINAPI message_thread( void *arg )
{
    (void)arg;
    InterlockedIncrement( &waiting );
    if (MsgWaitForMultipleObjects( 1, &subject, FALSE, KIT_LIMIT, QS_POSTMESSAGE ) == WAIT_OBJECT_0)
        InterlockedIncrement( &woken );
    return 0;
}

static void by_message_wait( void )
{
    MsgWaitForMultipleObjects( 1, &subject, FALSE, 0, QS_POSTMESSAGE );
    others = CreateThread( NULL, 0, message_thread, NULL, 0, NULL );
    ok( kit_wait_value( &waiting, 4 ), "it does not wait\n" );
}

static void join_thread( void )
{
    ok( !WaitForSingleObject( others, KIT_LIMIT ), "a thread waits still\n" );
    CloseHandle( others );
}

static VOID CALLBACK registered( void *arg, BOOLEAN timed_out )
{
    (void)arg;
    if (!timed_out) InterlockedIncrement( &woken );
}

static void by_registered_wait( void )
{
    ok( RegisterWaitForSingleObject( &others, subject, registered, NULL, INFINITE, WT_EXECUTEONLYONCE ),
        "error %lu\n", GetLastError() );
}

static void unregister( void )
{
    ok( UnregisterWaitEx( others, INVALID_HANDLE_VALUE ), "error %lu\n", GetLastError() );
}

struct way
{
    const char *name;
    void (*expose)( void );
    LONG signals;                               /* those that it makes itself */
    void (*finish)( void );                     /* of one more that waits, or NULL */
};

static const struct way ways[] =
{
    { "a copy", by_copy, 0, NULL },
    { "the inherit flag", by_inheritance, 0, NULL },
    { "NtQueryObject", by_question, 0, NULL },
    { "a wait with another kind", by_mixed_wait, 0, NULL },
    { "an alertable wait", by_alertable_wait, 0, NULL },
    { "SignalObjectAndWait of a mutex", by_signal_and_wait, 0, NULL },
    { "an I/O request", by_pipe, 1, NULL },
    { "DeviceIoControl", by_device_control, 1, NULL },
    { "WSAEventSelect", by_event_select, 1, NULL },
    { "WSARecv", by_socket_receive, 1, NULL },
    { "WSASendTo", by_socket_send, 1, NULL },
    { "MsgWaitForMultipleObjects", by_message_wait, 0, join_thread },
    { "RegisterWaitForSingleObject", by_registered_wait, 0, unregister },
};

/* Two workers and a plain thread wait; then the object becomes known; three signals release three. */
static void expose( int index )
{
    const struct way *way = &ways[index];
    LONG all = way->finish ? 4 : 3;
    struct kit_worker *workers[2];
    struct kit_sched *sched;
    HANDLE thread;
    DWORD ret;
    int i;

    if (!kit_open()) return;
    helper = CreateMutexW( NULL, FALSE, NULL );
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < 2; i++) workers[i] = kit_add_worker( sched->list, wait_once_body, NULL );
    kit_start();
    thread = CreateThread( NULL, 0, wait_once_thread, NULL, 0, NULL );
    ok( kit_wait_value( &waiting, 3 ), "they do not wait\n" );
    for (i = 0; i < 2; i++) ok( kit_leaves( &workers[i]->blocks, 0 ), "nobody was told\n" );
    Sleep( 30 );                                /* the thread, most likely; right in any case */
    way->expose();
    if (way->signals) ok( kit_wait_value( &woken, 1 ), "its own signal was lost\n" );
    for (i = (int)way->signals; i < all; i++)
    {
        SetEvent( subject );                    /* two before anybody took one would count as one */
        ok( kit_wait_value( &woken, i + 1 ), "signal %d was lost\n", i + 1 );
    }
    ret = WaitForSingleObject( thread, KIT_LIMIT );
    if (way->finish) way->finish();
    kit_finish();
    ok( !ret && woken == all, "%s: %ld of %ld were released\n", way->name, woken, all );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT, "%s: one signal too many\n", way->name );
    CloseHandle( thread );
    CloseHandle( subject );
    CloseHandle( helper );
    kit_check();
}

START_TEST( scenario_object_copied ) { expose( 0 ); }
START_TEST( scenario_object_inherited ) { expose( 1 ); }
START_TEST( scenario_object_queried ) { expose( 2 ); }
START_TEST( scenario_object_mixed ) { expose( 3 ); }
START_TEST( scenario_object_alertable ) { expose( 4 ); }
START_TEST( scenario_object_signal_and_wait ) { expose( 5 ); }
START_TEST( scenario_object_of_io ) { expose( 6 ); }
START_TEST( scenario_object_of_device ) { expose( 7 ); }
START_TEST( scenario_object_selected ) { expose( 8 ); }
START_TEST( scenario_object_of_receive ) { expose( 9 ); }
START_TEST( scenario_object_of_send ) { expose( 10 ); }
START_TEST( scenario_object_with_messages ) { expose( 11 ); }
START_TEST( scenario_object_registered ) { expose( 12 ); }

/* ---- a socket's event and one that only this process knows ---- */

#define DATAGRAMS 20

static WSAEVENT readable;
static SOCKET reader;
static volatile LONG received, finished, wrong;

static DWORD reader_body( struct kit_worker *worker )
{
    WSAEVENT both[2] = { subject, readable };
    WSANETWORKEVENTS happened;
    DWORD ret;
    char byte;

    (void)worker;
    while ((ret = pWSAWaitForMultipleEvents( 2, both, FALSE, KIT_LIMIT, FALSE )) == WSA_WAIT_EVENT_0 + 1)
    {
        if (pWSAEnumNetworkEvents( reader, readable, &happened ) ||
            ((happened.lNetworkEvents & FD_READ) && precv( reader, &byte, 1, 0 ) != 1)) break;
        if (happened.lNetworkEvents & FD_READ) InterlockedIncrement( &received );
    }
    if (ret == WSA_WAIT_EVENT_0) InterlockedIncrement( &finished );
    else InterlockedIncrement( &wrong );
    return 0;
}

START_TEST( scenario_object_socket_events )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    reader = open_socket();
    readable = pWSACreateEvent();
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    ok( !pWSAEventSelect( reader, readable, FD_READ ), "not selected\n" );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, reader_body, NULL );
    kit_start();
    for (i = 0; i < DATAGRAMS; i++)
    {
        send_to( reader );
        ok( kit_wait_value( &received, i + 1 ), "datagram %d was not seen\n", i );
    }
    SetEvent( subject );
    kit_finish();
    ok( finished == 1 && !wrong, "the worker's wait gave something else\n" );
    ok( received == DATAGRAMS, "%ld datagrams of %d\n", received, DATAGRAMS );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT, "its signal was not taken\n" );
    pclosesocket( reader );
    pWSACloseEvent( readable );
    CloseHandle( subject );
    kit_check();
}

/* ---- SignalObjectAndWait of one that others know, and one that only this process knows ---- */

static HANDLE named_semaphore( LONG count )
{
    char name[64];

    snprintf( name, sizeof(name), "umstest-semaphore-%lu", GetCurrentProcessId() );
    return CreateSemaphoreA( NULL, count, 10, name );
}

/* Two wait, and are released by the signal of a call that waits for the other object. */
START_TEST( scenario_object_signal_and_wait_known )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    helper = named_semaphore( 1 );
    subject = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, wait_once_body, NULL );
    kit_start();
    thread = CreateThread( NULL, 0, wait_once_thread, NULL, 0, NULL );
    ok( kit_wait_value( &waiting, 2 ), "they do not wait\n" );
    ok( kit_leaves( &worker->blocks, 0 ), "nobody was told\n" );
    ok( !SignalObjectAndWait( subject, helper, KIT_LIMIT, FALSE ), "error %lu\n", GetLastError() );
    ok( WaitForSingleObject( helper, 0 ) == WAIT_TIMEOUT, "the wait took nothing\n" );
    ok( kit_wait_value( &woken, 2 ), "the signal was lost: %ld of 2 were released\n", woken );
    ok( !WaitForSingleObject( subject, 0 ), "it is not signalled\n" );
    SetEvent( subject );
    others = thread;
    join_thread();
    kit_finish();
    CloseHandle( subject );
    CloseHandle( helper );
    kit_check();
}

static void signal_known( void )
{
    if (!SignalObjectAndWait( helper, subject, KIT_LIMIT, FALSE )) InterlockedIncrement( &woken );
}

static DWORD signal_known_body( struct kit_worker *worker )
{
    (void)worker;
    signal_known();
    return 0;
}

static DWORD WINAPI signal_known_thread( void *arg )
{
    (void)arg;
    signal_known();
    return 0;
}

/* Two signal the other object and wait. The event stays set, so they are released whether they wait by then. */
START_TEST( scenario_object_signal_known_and_wait )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    helper = named_semaphore( 0 );
    subject = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, signal_known_body, NULL );
    kit_start();
    others = CreateThread( NULL, 0, signal_known_thread, NULL, 0, NULL );
    for (i = 0; i < 2; i++) ok( !WaitForSingleObject( helper, KIT_LIMIT ), "signal %d was lost\n", i );
    ok( SetEvent( subject ), "error %lu\n", GetLastError() );
    ok( kit_wait_value( &woken, 2 ), "%ld of 2 were released\n", woken );
    join_thread();
    kit_finish();
    CloseHandle( subject );
    CloseHandle( helper );
    kit_check();
}
