#pragma once
#include "actors/shard/pass/order.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

/* Shared by the commands on scans. Errors: as view.h, and those named. */

/* The verdict as the interface prints it. */
const char *scan_status_text(unsigned verdict);

/* Append the scan as the interface prints it: as JSON text, or as one msgpack bin of it. The reader's name is the present one.
 * SPACED: its date as lists print it; WITH_PASS: with its pass, as that is now, deleted or not. */
enum scan_form { SCAN_PLAINLY = 0, SCAN_SPACED = 1, SCAN_WITH_PASS = 2 };
must_check enum err scan_json(struct request *request, const struct scan_row *scan, unsigned form,
                              struct buffer *out);
must_check enum err scan_show(struct request *request, const struct scan_row *scan, unsigned form,
                              struct buffer *out);

/* As scan_show(), for a caller that knows the pass and reader behind the numbers of the row. */
struct scan_known {
	struct span              pass_id; /* size 0: look it up */
	const struct reader_row *reader;  /* NULL: look it up; its id empty: no reader */
};
must_check enum err scan_show_known(struct request *request, const struct scan_row *scan, unsigned form,
                                    const struct scan_known *known, struct buffer *out);

/* The first notes in the outcome what the response to a creation was made from, the second makes it again for a repeated
 * request. Errors: ERR_NO_MEMORY; ERR_DAMAGED. */
must_check enum err scan_note(struct request *request, const struct scan_row *scan, struct outcome *outcome);
must_check enum err scan_again(struct request *request, const struct recipe *recipe, struct outcome *outcome);

/* Selects the scans of a list: a bit a scan, by number. */
struct scan_filter {
	unsigned    verdicts; /* a bit each */
	wall_us     created[2];
	struct span q; /* folded; size 0: none */
};
must_check enum err select_scans(struct request *request, const struct scan_filter *filter,
                                 struct selection *selection);
