#pragma once
#include "schemas/crc32c.h"
#include "store/registration.h"

/* Which phones a push of a pass left out, since no credential served them, in a number: it begins with 0, and each of them changes
 * it, in any order. Errors: none. */
static inline uint32_t wallet_left_mark(uint32_t mark, const struct registration *phone)
{
	uint32_t one = crc32c(crc32c(0, phone->device, sizeof phone->device), &phone->credential,
	                      sizeof phone->credential);
	/* Sums of plain CRCs would be equal for equal sets of devices and of credentials. */
	one = (one ^ one >> 16) * UINT32_C(0x85ebca6b);
	return mark + (one ^ one >> 13);
}
