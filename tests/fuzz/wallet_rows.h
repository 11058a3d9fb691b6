#pragma once
#include "tests/unit/support.h"

/* Any bytes as a value of WALLET_CREDENTIAL, or as a key and a value of
 * REGISTRATION, WALLET_DUE, WALLET_MESSAGE, WALLET_CLASS or WALLET_GOOGLE: what is accepted is written again so that it reads the same. */
void wallet_check_credential(struct span bytes);
void wallet_check_registration(struct scratch *s, struct account_id account, struct span bytes);
void wallet_check_due(struct scratch *s, struct span bytes);
void wallet_check_message(struct scratch *s, struct account_id account, struct span bytes);
void wallet_check_pictures(struct scratch *s, struct account_id account, struct span bytes);
void wallet_check_class(struct scratch *s, struct account_id account, struct span bytes);
void wallet_check_google(struct scratch *s, struct account_id account, struct span bytes);
