/* For "did you mean": the optimal string alignment distance, over words that are short. */
#include "schemas/nearest.h"

#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned rows[3][NEAREST_BYTES_MAX + 1];

	for (unsigned j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a_size; i++) {
		unsigned       *row = rows[i % 3];
		const unsigned *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= b_size; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
			               above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], second[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

const char *nearest(const char *word, const char *const *words, size_t count)
{
	size_t      size = strlen(word);
	const char *best = NULL;
	unsigned    best_distance = size < 3 ? 1 : size < 6 ? 2 : 3;

	if (size > NEAREST_BYTES_MAX) return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t   other = strlen(words[i]);
		unsigned far;
		if (other > NEAREST_BYTES_MAX) continue;
		far = distance(word, size, words[i], other);
		if (far >= best_distance) continue;
		best = words[i];
		best_distance = far;
	}
	return best;
}
