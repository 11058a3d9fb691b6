/* Draws a QR code. The only user of <qrencode.h>, which computes the modules. They become one path whose runs are strokes of
 * width 1: "M4 4.5" moves to the middle of a row's left end, "h7" draws seven modules, "m2 0" skips two. */
#include "http/qr.h"

#include "schemas/json.h"
#include "schemas/limits.h"

#include <errno.h>
#include <qrencode.h>

enum { QUIET = 4 /* white modules around it, which readers need */ };

static bool is_dark(const QRcode *code, int x, int y)
{
	return code->data[y * code->width + x] & 1;
}

/* Draws the runs of a row, from the left. */
static void draw_row(struct buffer *out, const QRcode *code, int y)
{
	int at = -1; /* pen position; -1: not in this row yet */
	for (int x = 0, end; x < code->width; x = end) {
		for (end = x + 1; end < code->width && is_dark(code, end, y) == is_dark(code, x, y);)
			end++;
		if (!is_dark(code, x, y)) continue;
		buffer_byte(out, at < 0 ? 'M' : 'm');
		json_number(at < 0 ? x + QUIET : x - at, out);
		buffer_byte(out, ' ');
		json_number(at < 0 ? y + QUIET : 0, out);
		buffer_text(out, at < 0 ? ".5h" : "h");
		json_number(end - x, out);
		at = end;
	}
}

static bool is_ascii(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] >= 0x80) return false;
	return true;
}

/* Declares non-ASCII bytes as UTF-8. Otherwise readers guess, and some guess Chinese. */
static QRcode *encode_utf8(struct span text)
{
	enum { UTF8 = 26 /* number of UTF-8 among the extended channel interpretations */ };
	QRcode  *code = NULL;
	QRinput *input = QRinput_new2(0, QR_ECLEVEL_M);
	if (input && !QRinput_appendECIheader(input, UTF8) &&
	    !QRinput_append(input, QR_MODE_8, (int)text.size, text.at))
		code = QRcode_encodeInput(input);
	QRinput_free(input);
	return code;
}

enum err qr_svg(struct buffer *out, struct span text)
{
	char copy[PASS_ID_BYTES_MAX + 1];
	if (!text.size || text.size >= sizeof copy) return ERR_TOO_LARGE;
	memcpy(copy, text.at, text.size);
	copy[text.size] = '\0';
	QRcode *code = is_ascii(text) ? QRcode_encodeString(copy, 0, QR_ECLEVEL_M, QR_MODE_8, 1)
	                              : encode_utf8(text);
	if (!code) return errno == ENOMEM ? ERR_NO_MEMORY : ERR_TOO_LARGE;
	int side = code->width + 2 * QUIET;
	buffer_text(
	    out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"QR code\" viewBox=\"0 0 ");
	json_number(side, out);
	buffer_byte(out, ' ');
	json_number(side, out);
	buffer_text(out, "\"><path fill=\"#fff\" d=\"M0 0h");
	json_number(side, out);
	buffer_byte(out, 'v');
	json_number(side, out);
	buffer_text(out, "H0z\"/><path stroke=\"#000\" d=\"");
	for (int y = 0; y < code->width; y++)
		draw_row(out, code, y);
	buffer_text(out, "\"/></svg>");
	QRcode_free(code);
	return OK;
}
