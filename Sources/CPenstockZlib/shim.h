// The system's zlib: in the SDK of Apple's systems, in zlib1g-dev on Debian and Ubuntu.
#include <zlib.h>
