#pragma once
#include "http/exchange.h"

/* The handler of the public listener, for h2o. */
int on_public_request(h2o_handler_t *self, h2o_req_t *req);
