#pragma once
#include "schemas/err.h"

enum { ADDRESS_TEXT = 256 + 9 };

/* Binds and listens on "HOST:PORT" (port 0: any free one). `address` gets HOST as written, with the real port. The caller owns
 * the descriptor, which is non-blocking and close-on-exec. `option` names it in the log. Errors (logged): ERR_BAD_OPTION (no
 * such host), ERR_IO (in use, not allowed). */
must_check enum err listen_open(const char *option, const char *host_port, int *fd,
                                char address[ADDRESS_TEXT]);
