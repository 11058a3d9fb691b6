#pragma once
#include "actors/shard/pass/order.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

/* What the commands on scans share. Errors: as view.h, and those named. */

/* The verdict as the interface prints it. */
const char *scan_status_text(unsigned verdict);

/* The scan as the interface shows it, appended to `out`: JSON text; the same as one msgpack bin. Names of readers are those
 * of now. SPACED: its date as lists print it; WITH_PASS: with its pass, as that is now, deleted or not. */
enum scan_form { SCAN_PLAINLY = 0, SCAN_SPACED = 1, SCAN_WITH_PASS = 2 };
must_check enum err scan_json(struct request *request, const struct scan_row *scan, unsigned form,
                              struct buffer *out);
must_check enum err scan_show(struct request *request, const struct scan_row *scan, unsigned form,
                              struct buffer *out);

/* The same as scan_show() by whoever knows already what the row names by numbers. */
struct scan_known {
	struct span              pass_id; /* size 0: to be looked up */
	const struct reader_row *reader;  /* NULL: likewise; its id empty: none */
};
must_check enum err scan_show_known(struct request *request, const struct scan_row *scan, unsigned form,
                                    const struct scan_known *known, struct buffer *out);

/* Of the creation, whose request it is: notes in the outcome how to answer so again; and does that.
 * Errors: ERR_NO_MEMORY; ERR_DAMAGED. */
must_check enum err scan_note(struct request *request, const struct scan_row *scan, struct outcome *outcome);
must_check enum err scan_again(struct request *request, const struct recipe *recipe, struct outcome *outcome);

/* Which scans a list is about: a bit a scan, by number. */
struct scan_filter {
	unsigned    verdicts; /* a bit each */
	wall_us     created[2];
	struct span q; /* folded; size 0: none */
};
must_check enum err select_scans(struct request *request, const struct scan_filter *filter,
                                 struct selection *selection);
