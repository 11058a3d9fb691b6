#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "store/view.h"

/* Pictures of a pass in a wallet that was changed to an image which is not there: it keeps the former one until the new one has been
 * fetched. PASS_PICTURES row: account | number of the pass u32 -> version u8 (1) | was the fetch given up? u8 | sizes u16 of the four
 * URLs | begun i64 | URLs: wanted logo, wanted banner, kept logo, kept banner. Little-endian. A row exists from the change until
 * the images are there, or the next change; its kept URLs are counted in IMAGE_USE. A URL longer than URL_BYTES_MAX is none. Errors: as
 * view.h. */
enum { PICTURES = 2 /* logo, banner */ };
struct pass_pictures {
	wall_us     begun; /* service time */
	bool        is_given_up;
	struct span wanted[PICTURES], kept[PICTURES]; /* URLs; size 0: none */
};

must_check enum err pass_pictures_get(struct view *view, struct account_id account, uint32_t pass_number,
                                      struct pass_pictures *row);
must_check enum err pass_pictures_put(struct view *view, struct account_id account, uint32_t pass_number,
                                      const struct pass_pictures *row);
must_check enum err pass_pictures_del(struct view *view, struct account_id account, uint32_t pass_number);

/* A stored value. Errors: ERR_DAMAGED. */
must_check enum err pass_pictures_read(struct span value, struct pass_pictures *row);
