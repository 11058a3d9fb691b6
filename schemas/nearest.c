/* For "did you mean": the optimal string alignment distance, for short words. */
#include "schemas/nearest.h"

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(struct span a, struct span b)
{
	unsigned rows[3][NEAREST_BYTES_MAX + 1];

	for (unsigned j = 0; j <= b.size; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a.size; i++) {
		unsigned       *row = rows[i % 3];
		const unsigned *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= b.size; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
			               above[j - 1] + (a.at[i - 1] != b.at[j - 1]));
			if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1])
				row[j] = least(row[j], second[j - 2] + 1);
		}
	}
	return rows[a.size % 3][b.size];
}

/* The least number of edits that is not close. */
static unsigned too_far(struct span word)
{
	return word.size < 3 ? 1 : word.size < 6 ? 2 : 3;
}

/* Is `other` closer than `*far`? Then `*far` becomes its distance. */
static bool is_closer(struct span word, struct span other, unsigned *far)
{
	unsigned so_far;

	if (word.size > NEAREST_BYTES_MAX || other.size > NEAREST_BYTES_MAX) return false;
	so_far = distance(word, other);
	if (so_far >= *far) return false;
	*far = so_far;
	return true;
}

const char *nearest(const char *word, const char *const *words, size_t count)
{
	const char *best = NULL;
	unsigned    far = too_far(span_str(word));

	for (size_t i = 0; i < count; i++)
		if (is_closer(span_str(word), span_str(words[i]), &far)) best = words[i];
	return best;
}

const struct span *nearest_span(struct span word, const struct span *words, size_t count)
{
	const struct span *best = NULL;
	unsigned           far = too_far(word);

	for (size_t i = 0; i < count; i++)
		if (is_closer(word, words[i], &far)) best = &words[i];
	return best;
}
