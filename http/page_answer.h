#pragma once
#include "http/card.h"
#include "http/exchange.h"

/* What answers below /p/ share: pages, and what belongs to one. A request is answered once. */
struct page_header {
	const char *name, *value; /* static */
};

/* Adds these headers, and those that every such answer has. */
void page_headers(struct exchange *exchange, const struct page_header *headers, size_t count);

/* Sends a page. */
void page_send(struct exchange *exchange, int status, struct span html, const struct card_hashes *hashes);

/* Refuses with a small page, by an error or by a status. */
void page_refuse(struct exchange *exchange, enum err err);
void page_refuse_as(struct exchange *exchange, int status);
