/* A QR code as SVG: drawn again from its path it equals the library's code. A scenario tests that readers can
 * decode it. */
#include "http/qr.h"

#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <qrencode.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUIET = 4, SIDE_MAX = 177 };

static struct buffer out;
static bool          dark[SIDE_MAX][SIDE_MAX];

/* The strokes of the second path: M x y.5, h n, m n 0. */
static void draw(const char *path)
{
	int x = 0, y = 0, n, used;
	while (*path != '"') {
		if (sscanf(path, "M%d %d.5%n", &x, &y, &used) == 2) {
		} else if (sscanf(path, "m%d 0%n", &n, &used) == 1) {
			x += n;
		} else {
			cr_assert_eq(sscanf(path, "h%d%n", &n, &used), 1, "%.20s", path);
			for (; n > 0; n--)
				dark[y][x++] = true;
		}
		path += used;
	}
}

static void same_as_the_library(const char *text)
{
	memset(dark, 0, sizeof dark);
	buffer_clear(&out);
	cr_assert_eq(qr_svg(&out, span_str(text)), OK);
	buffer_byte(&out, 0);
	const char *svg = (const char *)out.at, *path = strstr(svg, "stroke=\"#000\" d=\"");
	cr_assert(path);
	draw(path + strlen("stroke=\"#000\" d=\""));
	QRcode *want = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1);
	char    box[64];
	snprintf(box, sizeof box, "viewBox=\"0 0 %d %d\"", want->width + 2 * QUIET, want->width + 2 * QUIET);
	cr_expect(strstr(svg, box), "%s", box);
	for (int y = 0; y < want->width + 2 * QUIET; y++)
		for (int x = 0; x < want->width + 2 * QUIET; x++) {
			int  u = x - QUIET, v = y - QUIET;
			bool inside = u >= 0 && v >= 0 && u < want->width && v < want->width;
			bool is = inside && want->data[v * want->width + u] & 1;
			cr_assert_eq(dark[y][x], is, "%d %d", x, y);
		}
	QRcode_free(want);
}

Test(qr, is_drawn_as_the_library_made_it)
{
	char longest[PASS_ID_BYTES_MAX + 1];
	memset(longest, 'x', sizeof longest);
	longest[PASS_ID_BYTES_MAX] = 0;
	same_as_the_library("a");
	same_as_the_library("0190c1e2-7a3b-7c5d-9e1f-123456789abc");
	same_as_the_library("A-1 $%*+./:");
	same_as_the_library(longest);
}

Test(qr, of_empty_or_too_long_text_is_refused)
{
	uint8_t text[PASS_ID_BYTES_MAX + 1];
	memset(text, 'x', sizeof text);
	cr_expect_eq(qr_svg(&out, span_of(text, 0)), ERR_TOO_LARGE);
	cr_expect_eq(qr_svg(&out, span_of(text, sizeof text)), ERR_TOO_LARGE);
	cr_expect_eq(out.size, 0);
}
