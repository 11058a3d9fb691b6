#pragma once
#include "actors/shard/pass/select.h"

/* The page of a selection in one of its orders. Ties are in the order of creation, in the same direction.
 * Source: document 4.1 and 4.6, and the decisions on sorting. */
enum pass_order { ORDER_CREATED, ORDER_UPDATED, ORDER_ID, ORDER_NAME };

struct page {
	enum pass_order order;
	bool            ascending;
	uint64_t        skip, limit;
	uint32_t        count; /* passes found */
	uint32_t        numbers[PAGE_LIMIT_MAX];
};

/* Fills `count` and `numbers` of the page; may change its other members. Errors: as view.h. */
must_check enum err order_page(struct request *request, const struct selection *selection, struct page *page);

/* The page in order of creation, of the account's `made` passes with these statuses (status_mask()). Reads no pass behind the
 * end of the page. */
must_check enum err order_by_statuses(struct request *request, uint32_t made, uint16_t statuses,
                                      struct page *page);
