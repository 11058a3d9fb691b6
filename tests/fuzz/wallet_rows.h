#pragma once
#include "tests/unit/support.h"

/* Any bytes as a key and a value of REGISTRATION or WALLET_DUE: what is accepted is written again so that it reads the same. */
void wallet_check_registration(struct scratch *s, struct account_id account, struct span bytes);
void wallet_check_due(struct scratch *s, struct span bytes);
