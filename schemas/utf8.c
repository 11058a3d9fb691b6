/* UTF-8, by its strict definition. */
#include "schemas/json.h"

size_t utf8_character(struct span text, uint32_t *point)
{
	static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t        *at = text.at;
	size_t                size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	*point = at[0];
	if (at[0] < 0x80) return 1;
	if (at[0] < 0xc0 || at[0] > 0xf4) return 0;
	if (text.size < size) return 0;
	uint32_t read = at[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80) return 0;
		read = read << 6 | (at[i] & 0x3fu);
	}
	bool surrogate = read >= 0xd800 && read <= 0xdfff;
	if (read < smallest[size] || read > 0x10ffff || surrogate) return 0;
	*point = read;
	return size;
}

bool utf8_is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

bool utf8_turns_direction(uint32_t point)
{
	return point == 0x61c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069);
}

size_t utf8_valid_size(struct span text)
{
	uint32_t point;
	size_t   i = 0;
	while (i < text.size) {
		uint64_t word;
		if (text.size - i >= sizeof word) {
			memcpy(&word, text.at + i, sizeof word);
			if (!(word & UINT64_C(0x8080808080808080))) {
				i += sizeof word;
				continue;
			}
		}
		size_t size = utf8_character(span_of(text.at + i, text.size - i), &point);
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
