/* Slugs: their form, and their derivation from a name. */
#include "schemas/slug.h"

#include "schemas/buffer.h"
#include "schemas/fold.h"

#include <stdio.h>

static bool is_letter(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

bool slug_is_valid(struct span text)
{
	bool after_letter = false;
	if (text.size > REWARD_SLUG_BYTES_MAX) return false;
	for (size_t i = 0; i < text.size; i++) {
		if (!is_letter(text.at[i]) && (text.at[i] != '_' || !after_letter)) return false;
		after_letter = text.at[i] != '_';
	}
	return after_letter;
}

static void trim_end(struct slug *slug)
{
	while (slug->size && slug->b[slug->size - 1] == '_')
		slug->size--;
}

enum err slug_make(struct span name, struct slug *slug)
{
	struct buffer folded = {0};
	bool          gap = false;
	fold_marks(name, &folded);
	slug->size = 0;
	for (size_t i = 0; i < folded.size && slug->size < sizeof slug->b; i++) {
		bool letter = is_letter(folded.at[i]);
		if (letter && gap && slug->size) slug->b[slug->size++] = '_';
		if (letter && slug->size < sizeof slug->b) slug->b[slug->size++] = folded.at[i];
		gap = !letter;
	}
	bool failed = folded.failed;
	buffer_free(&folded);
	trim_end(slug);
	if (slug->size == 0) memcpy(slug->b, "reward", slug->size = strlen("reward"));
	return failed ? ERR_NO_MEMORY : OK;
}

void slug_number(const struct slug *base, uint32_t number, struct slug *slug)
{
	char   end[16];
	size_t size = (size_t)snprintf(end, sizeof end, "_%u", number), room = sizeof slug->b - size;
	*slug = *base;
	if (slug->size > room) slug->size = room;
	trim_end(slug);
	memcpy(slug->b + slug->size, end, size);
	slug->size += size;
}
