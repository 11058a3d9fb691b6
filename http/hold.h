#pragma once
#include <h2o.h>

/* A connection whose request waits for a shard. h2o stops reading it meanwhile, and starts again after the
 * answer, at the price of two system calls; held, it stays with the poller instead. hold_begin() comes once
 * the request is under way, hold_end() before its answer is sent. Connections with TLS are left as they are.
 * Errors: none. */
void hold_begin(h2o_req_t *req);
void hold_end(h2o_req_t *req);
