/* Bytes that grow, like a file. */
#include "tests/crash/image.h"

#include "schemas/err.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static void reserve(struct image *image, uint64_t size)
{
	if (size <= image->capacity) return;
	image->capacity = size + size / 2;
	must((image->at = realloc(image->at, image->capacity)));
}

void image_resize(struct image *image, uint64_t size)
{
	reserve(image, size);
	if (size > image->size) memset(image->at + image->size, 0, size - image->size);
	image->size = size;
}

void image_write(struct image *image, uint64_t at, const uint8_t *bytes, uint64_t size)
{
	if (at + size > image->size) image_resize(image, at + size);
	if (bytes)
		memcpy(image->at + at, bytes, size);
	else
		memset(image->at + at, 0, size);
}

void image_copy(struct image *to, const struct image *from)
{
	reserve(to, from->size);
	if (from->size) memcpy(to->at, from->at, from->size);
	to->size = from->size;
}

void image_free(struct image *image)
{
	free(image->at);
	*image = (struct image){.size = 0};
}

void image_save(const struct image *image, const char *path)
{
	static const uint8_t zeros[BLOCK];
	int                  fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	must(fd >= 0 && !ftruncate(fd, (off_t)image->size));
	for (uint64_t at = 0; at < image->size; at += BLOCK) {
		size_t size = image->size - at < BLOCK ? (size_t)(image->size - at) : BLOCK;
		if (memcmp(image->at + at, zeros, size) == 0) continue;
		must(pwrite(fd, image->at + at, size, (off_t)at) == (ssize_t)size);
	}
	close(fd);
}
