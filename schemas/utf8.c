/* UTF-8, by its strict definition. */
#include "schemas/json.h"

/* Bytes of the UTF-8 character at `at`; 0 if malformed: overlong, a surrogate, or beyond U+10FFFF. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
	static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t                size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0x80) return 1;
	if (at[0] < 0xc0 || at[0] > 0xf4) return 0;
	if (left < size) return 0;
	uint32_t point = at[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80) return 0;
		point = point << 6 | (at[i] & 0x3fu);
	}
	bool surrogate = point >= 0xd800 && point <= 0xdfff;
	return point < smallest[size] || point > 0x10ffff || surrogate ? 0 : size;
}

size_t utf8_valid_size(struct span text)
{
	size_t i = 0;
	while (i < text.size) {
		uint64_t word;
		if (text.size - i >= sizeof word) {
			memcpy(&word, text.at + i, sizeof word);
			if (!(word & UINT64_C(0x8080808080808080))) {
				i += sizeof word;
				continue;
			}
		}
		size_t size = utf8_length(text.at + i, text.size - i);
		if (!size) break;
		i += size;
	}
	return i;
}

struct span utf8_cut(struct span text, size_t size_max)
{
	size_t size = size_max;
	if (text.size <= size_max) return text;
	while (size && (text.at[size] & 0xc0) == 0x80)
		size--;
	return span_of(text.at, size);
}
