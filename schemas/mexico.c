/* The C library knows only the process's own zone, so this process uses Mexico City's. Only the offset is queried;
 * the text is that of a time shifted by it. Before 1922 the offset had seconds. It is cut to minutes both in the
 * shift and in the text, so that the moment stays the same. */
#include "schemas/mexico.h"

#include "schemas/date.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ZULU = RFC3339_TEXT - 2, WINTER_S = -6 * 3600, SUMMER_S = -5 * 3600 };
_Static_assert((int)MEXICO_TEXT == (int)RFC3339_TEXT + 5, "+00:00 in place of Z");

static long offset_s(wall_us at)
{
	time_t    seconds = at.v / US_PER_SEC - (at.v % US_PER_SEC < 0);
	struct tm local;
	return localtime_r(&seconds, &local) ? local.tm_gmtoff : WINTER_S;
}

bool mexico_begin(void)
{
	static const wall_us winter = {INT64_C(1579046400) * US_PER_SEC},
	                     summer = {INT64_C(1594771200) * US_PER_SEC};
	if (setenv("TZ", "America/Mexico_City", 1)) return false;
	tzset();
	return offset_s(winter) == WINTER_S && offset_s(summer) == SUMMER_S; /* the offsets of 2020 */
}

void mexico_text(wall_us at, char text[MEXICO_TEXT])
{
	int      minutes = (int)(offset_s(at) / 60);
	unsigned ahead = (unsigned)(minutes < 0 ? -minutes : minutes);
	char     utc[RFC3339_TEXT];
	rfc3339_text((wall_us){at.v + minutes * INT64_C(60) * US_PER_SEC}, utc);
	memcpy(text, utc, ZULU);
	const char zone[] = {minutes < 0 ? '-' : '+',
	                     (char)('0' + ahead / 600),
	                     (char)('0' + ahead / 60 % 10),
	                     ':',
	                     (char)('0' + ahead % 60 / 10),
	                     (char)('0' + ahead % 10),
	                     '\0'};
	memcpy(text + ZULU, zone, sizeof zone);
}
