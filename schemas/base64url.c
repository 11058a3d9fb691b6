/* base64url without padding, in both directions. */
#include "schemas/base64url.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_text(struct span bytes, char *text)
{
	uint32_t bits = 0, held = 0;
	for (size_t i = 0; i < bytes.size; i++) {
		bits = bits << 8 | bytes.at[i];
		for (held += 8; held >= 6; held -= 6)
			*text++ = alphabet[bits >> (held - 6) & 63];
	}
	if (held) *text++ = alphabet[bits << (6 - held) & 63];
	*text = 0;
}

static int value_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z') return c - 'A';
	if (c >= 'a' && c <= 'z') return c - 'a' + 26;
	if (c >= '0' && c <= '9') return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool base64url_read(struct span text, uint8_t *bytes, size_t size)
{
	uint32_t bits = 0, held = 0;
	if (text.size != BASE64URL_TEXT(size) - 1) return false;
	for (size_t i = 0; i < text.size; i++) {
		int value = value_of(text.at[i]);
		if (value < 0) return false;
		bits = bits << 6 | (uint32_t)value;
		if ((held += 6) < 8) continue;
		held -= 8;
		*bytes++ = (uint8_t)(bits >> held);
	}
	return (bits & ((1u << held) - 1)) == 0;
}
