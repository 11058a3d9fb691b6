#pragma once
#include "actors/shard/command.h"

/* Classes at Google, which templates make: rows of WALLET_DUE by which they are written. Nothing without a service account that serves
 * the account. Errors: as view.h. */

/* Stages that the class of a template is to be written, which is new or has changed. Point reads, also after staged writes. */
must_check enum err google_class_due(struct request *request, uint32_t template);

/* Stages that all classes of the account are to be written, some at a time. Likewise. */
must_check enum err google_classes_due(struct request *request);

/* The same after a service account was put: of the account, or without one of all accounts that the operator's serves, from the
 * first of the shard on. That is found before anything is staged: a range read; nil: the shard has none. */
must_check enum err google_classes_first(struct request *request, struct account_id *first);
must_check enum err google_classes_due_from(struct request *request, struct account_id first);

enum { CLASSES_STEP_MAX = 31 }; /* templates of one step */
