#include "umsrun.h"
int prefix_command( int argc, WCHAR **argv ) { (void)argc; (void)argv; return -1; }
