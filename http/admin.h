#pragma once
#include <h2o.h>

/* The handler of the admin listener, for h2o: GET /healthz, /readyz, /metrics. It does not serve /v1. */
int on_admin_request(h2o_handler_t *self, h2o_req_t *req);
