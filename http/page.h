#pragma once
#include "http/request.h"

/* The pages of holders, below /p/. They need no API key, like nothing else but `/openapi.json`. */
bool page_is_at(struct span path);

/* Takes a request whose path is one of theirs, and answers it, now or later. */
void page_begin(struct request *request, const struct request_headers *headers);

/* Makes a page of what the shard says: the answer of a PAGE route. */
void page_answer(struct request *request, const struct reply *reply);
/* Sends the image that the shard gave, or says that the client has it: the answer of an IMAGE route. */
void page_answer_image(struct request *request, const struct reply *reply);
