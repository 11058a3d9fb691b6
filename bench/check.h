#pragma once

/* Tests of the parts of the load generator that do no I/O, for any test program. Units: none. Errors: a sentence about the
 * fault; NULL: none. */
const char *check_histogram(void);
const char *check_plan(void);
const char *check_pace(void);
const char *check_request(void);
const char *check_script(void);
const char *check_tally(void);
const char *check_response(void);

/* All of them; the first fault. */
const char *check_all(void);
