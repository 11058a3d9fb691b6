/* The model of a disk. A file has durable bytes and a list of changes that may or may not survive; a
 * directory has the same of entries. A completed sync makes everything durable that was there when it began.
 *
 * A state is made by a decision for each change that is not durable: kept, lost, or torn between the sectors
 * it touches. The probabilities are drawn again for each file of each state. States in which only one write
 * is kept, or only one sector lost, thus occur as often as an even mixture. */
#include "tests/crash/disk.h"

#include "tests/crash/image.h"

#include "schemas/err.h"
#include "tests/unit/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 4096, SYNCS = 256, ENTRIES = 256, NAME_BYTES = 64, SECTOR = 512, PAGE = 4096 };

struct file;

struct name {
	char         text[NAME_BYTES];
	struct file *file;
};

struct names {
	struct name at[ENTRIES];
	unsigned    count;
};

/* A change that is not durable yet. In a directory: `from` is removed, `name` is `file`. */
struct change {
	bool           is_resize, settled; /* settled: durable itself, but earlier ones are not */
	uint64_t       at, length;
	const uint8_t *bytes; /* NULL: zeros */
	char           from[NAME_BYTES];
	struct name    name;
};

struct file {
	struct file_id id, said; /* its declared type */
	bool           is_dir;
	struct image   durable;
	struct names   entries; /* the durable ones */
	struct change *changes;
	size_t         first, end; /* those in `changes`, not durable */
	size_t         capacity;
	char          *built; /* its path in the state being made */
};

struct sync {
	struct file *file;
	uint64_t     thread;
	size_t       covers; /* changes before this one */
};

struct disk {
	struct file *files[FILES];
	unsigned     file_count;
	struct file *root;
	struct sync  syncs[SYNCS];
	struct file *writing; /* the file of the newest entry, if that was a write */
	uint64_t     device;
};

struct disk *disk_new(void)
{
	struct disk *disk = calloc(1, sizeof *disk);
	must(disk);
	return disk;
}

void disk_free(struct disk **disk_p)
{
	struct disk *disk = *disk_p;
	if (!disk) return;
	for (unsigned i = 0; i < disk->file_count; i++) {
		image_free(&disk->files[i]->durable);
		free(disk->files[i]->changes);
		free(disk->files[i]->built);
		free(disk->files[i]);
	}
	free(disk);
	*disk_p = NULL;
}

/* An inode means the file that had it last. */
static struct file *find(const struct disk *disk, uint64_t inode)
{
	for (unsigned i = disk->file_count; i-- > 0;)
		if (disk->files[i]->id.inode == inode) return disk->files[i];
	return NULL;
}

static struct file *add(struct disk *disk, uint64_t inode, bool is_dir)
{
	must(disk->file_count < FILES);
	struct file *file = calloc(1, sizeof *file);
	must(file);
	file->id = file->said = (struct file_id){disk->device, inode};
	file->is_dir = is_dir;
	return disk->files[disk->file_count++] = file;
}

/* Names --------------------------------------------------------------------------------------------------- */

static struct name *names_find(struct names *names, const char *text)
{
	for (unsigned i = 0; i < names->count; i++)
		if (!strcmp(names->at[i].text, text)) return &names->at[i];
	return NULL;
}

static void names_remove(struct names *names, const char *text)
{
	struct name *name = names_find(names, text);
	if (name) *name = names->at[--names->count];
}

static void names_change(struct names *names, const struct change *change)
{
	if (change->from[0]) names_remove(names, change->from);
	if (!change->name.text[0]) return;
	names_remove(names, change->name.text);
	must(names->count < ENTRIES);
	names->at[names->count++] = change->name;
}

static void name_set(char to[NAME_BYTES], const char *text)
{
	must(strlen(text) < NAME_BYTES);
	snprintf(to, NAME_BYTES, "%s", text);
}

/* Changes ------------------------------------------------------------------------------------------------- */

static struct change *change_add(struct file *file)
{
	if (file->end == file->capacity) {
		file->capacity = file->capacity ? 2 * file->capacity : 16;
		must((file->changes = realloc(file->changes, file->capacity * sizeof *file->changes)));
	}
	struct change *change = &file->changes[file->end++];
	*change = (struct change){.is_resize = false};
	return change;
}

static void image_change(struct image *image, const struct change *change)
{
	if (change->is_resize)
		image_resize(image, change->at);
	else
		image_write(image, change->at, change->bytes, change->length);
}

static void make_durable(struct file *file, size_t end)
{
	for (; file->first < end; file->first++) {
		if (file->is_dir)
			names_change(&file->entries, &file->changes[file->first]);
		else
			image_change(&file->durable, &file->changes[file->first]);
	}
}

/* A thread syncs one thing at a time. A dead thread's number is used by the next thread. */
static struct sync *sync_of(struct disk *disk, uint64_t thread)
{
	struct sync *sync = NULL;
	for (unsigned i = 0; i < SYNCS; i++) {
		if (disk->syncs[i].thread == thread) return &disk->syncs[i];
		if (!disk->syncs[i].file) sync = &disk->syncs[i];
	}
	must(sync);
	return sync;
}

static void apply_sync(struct disk *disk, const struct trace_head *head)
{
	struct file *file = find(disk, head->file);
	struct sync *sync = sync_of(disk, head->at);
	must(file);
	if (head->op == TRACE_SYNC_BEGIN) {
		*sync = (struct sync){file, head->at, file->end};
		return;
	}
	must(sync->file == file);
	make_durable(file, sync->covers);
	*sync = (struct sync){.file = NULL};
}

static void apply_names(struct disk *disk, const struct trace_entry *entry)
{
	const struct trace_head *head = &entry->head;
	struct file             *dir = find(disk, head->dir), *file = find(disk, head->file);
	must(dir && dir->is_dir);
	if (head->op == TRACE_MAKE) file = add(disk, head->file, head->at);
	struct change *change = change_add(dir);
	if (head->op == TRACE_UNLINK || head->op == TRACE_RENAME) name_set(change->from, entry->name);
	if (head->op == TRACE_UNLINK) return;
	must(file);
	must(head->op != TRACE_RENAME || head->other == head->dir); /* between directories: not modelled */
	name_set(change->name.text, head->op == TRACE_RENAME ? entry->new_name : entry->name);
	change->name.file = file;
}

static void apply_bytes(struct disk *disk, const struct trace_entry *entry)
{
	const struct trace_head *head = &entry->head;
	struct file             *file = find(disk, head->file);
	must(file && !file->is_dir);
	struct change *change = change_add(file);
	change->is_resize = head->op == TRACE_RESIZE;
	change->at = head->at;
	change->length = head->length;
	change->bytes = entry->bytes.size ? entry->bytes.at : NULL;
	change->settled = head->op == TRACE_WRITE && head->other;
	disk->writing = head->op == TRACE_WRITE ? file : NULL;
}

void disk_apply(struct disk *disk, const struct trace_entry *entry)
{
	disk->writing = NULL;
	switch ((enum trace_op)entry->head.op) {
	case TRACE_ROOT:
		if (disk->root && disk->root->id.inode == entry->head.file)
			return; /* another process, the same directory */
		disk->device = entry->head.at;
		disk->root = add(disk, entry->head.file, true);
		return;
	case TRACE_MAKE:
	case TRACE_LINK:
	case TRACE_UNLINK:
	case TRACE_RENAME: apply_names(disk, entry); return;
	case TRACE_WRITE:
	case TRACE_RESIZE: apply_bytes(disk, entry); return;
	case TRACE_SYNC_BEGIN:
	case TRACE_SYNC_END: apply_sync(disk, &entry->head); return;
	case TRACE_MARK: return;
	}
}

/* Loading ------------------------------------------------------------------------------------------------- */

static void load_bytes(struct file *file, int dir_fd, const char *name)
{
	uint8_t piece[1 << 16];
	ssize_t n;
	int     fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	for (uint64_t at = 0; (n = pread(fd, piece, sizeof piece, (off_t)at)) > 0; at += (uint64_t)n)
		image_write(&file->durable, at, piece, (uint64_t)n);
	must(n == 0);
	close(fd);
}

static void load_dir(struct disk *disk, struct file *dir, int dir_fd)
{
	struct dirent *entry;
	DIR           *list = fdopendir(dir_fd);
	must(list);
	while ((entry = readdir(list))) {
		struct stat   said;
		struct change change = {.at = 0};
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
		must(!fstatat(dir_fd, entry->d_name, &said, 0));
		/* One file may have two names. The directory entry has its true inode, fstatat() may not. */
		if (!(change.name.file = find(disk, entry->d_ino))) {
			change.name.file = add(disk, entry->d_ino, S_ISDIR(said.st_mode));
			change.name.file->said = (struct file_id){said.st_dev, said.st_ino};
			if (S_ISDIR(said.st_mode))
				load_dir(disk, change.name.file,
				         openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
			else
				load_bytes(change.name.file, dir_fd, entry->d_name);
		}
		name_set(change.name.text, entry->d_name);
		names_change(&dir->entries, &change);
	}
	closedir(list);
}

void disk_load(struct disk *disk, const char *path)
{
	struct stat st;
	must(!disk->root && !stat(path, &st));
	disk->device = st.st_dev;
	disk->root = add(disk, st.st_ino, true);
	load_dir(disk, disk->root, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Building ------------------------------------------------------------------------------------------------ */

/* The changes of a file: how many of 16 are lost, and how many of the others torn. */
struct fate {
	enum crash crash;
	unsigned   lost, torn;
	bool       writing; /* CRASH_KILL: inside its last change */
	uint64_t  *luck;
};

static struct fate draw_fate(const struct fate *whole)
{
	static const unsigned often[] = {0, 0, 1, 4, 8, 12, 15, 16};
	struct fate           fate = *whole;
	fate.lost = often[chance_below(whole->luck, 8)];
	fate.torn = often[chance_below(whole->luck, 8)];
	return fate;
}

static bool is_lost(const struct fate *fate, const struct change *change)
{
	return fate->crash == CRASH_POWER && !change->settled && chance_below(fate->luck, 16) < fate->lost;
}

/* True if the image would not change. */
static bool is_same(const struct image *image, uint64_t at, const uint8_t *bytes, uint64_t size)
{
	static const uint8_t zeros[SECTOR];
	return at + size <= image->size && !memcmp(image->at + at, bytes ? bytes : zeros, size);
}

/* Each sector that the change touches keeps its bytes, becomes zeros, or gets the new bytes. A sector whose
 * bytes would not change stays. */
static void tear(struct image *image, const struct change *change, uint64_t *luck)
{
	unsigned whole = 1 + chance_below(luck, 15);
	uint64_t end = change->at + change->length;
	for (uint64_t at = change->at, next; at < end; at = next) {
		next = (at / SECTOR + 1) * SECTOR < end ? (at / SECTOR + 1) * SECTOR : end;
		const uint8_t *bytes = change->bytes ? change->bytes + (at - change->at) : NULL;
		unsigned       how = chance_below(luck, 16);
		if (how < whole)
			image_write(image, at, bytes, next - at);
		else if (how % 4 == 0 && !is_same(image, at, bytes, next - at))
			image_write(image, at, NULL, next - at);
	}
}

/* A process killed inside a write leaves the pages before that point. */
static void cut_write(struct image *image, const struct change *change, uint64_t *luck)
{
	struct change part = *change;
	part.length = chance(luck) % (change->length / PAGE + 1) * PAGE;
	if (part.length) image_change(image, &part);
}

static void build_image(const struct file *file, const struct fate *fate, struct image *image)
{
	uint64_t grown;
	image_copy(image, &file->durable);
	grown = image->size;
	for (size_t i = file->first; i < file->end; i++) {
		const struct change *change = &file->changes[i];
		bool                 whole = change->is_resize || change->settled;
		if (change->is_resize || grown < change->at + change->length)
			grown = change->at + change->length;
		if (is_lost(fate, change)) continue;
		if (fate->writing && i + 1 == file->end)
			cut_write(image, change, fate->luck);
		else if (fate->crash == CRASH_POWER && !whole && chance_below(fate->luck, 16) < fate->torn)
			tear(image, change, fate->luck);
		else
			image_change(image, change);
	}
	/* The size may be on the disk without the bytes. */
	if (fate->crash == CRASH_POWER && image->size < grown && chance_below(fate->luck, 2))
		image_resize(image, grown);
}

static void build_names(const struct file *dir, const struct fate *fate, struct names *names)
{
	*names = dir->entries;
	for (size_t i = dir->first; i < dir->end; i++)
		if (!is_lost(fate, &dir->changes[i])) names_change(names, &dir->changes[i]);
}

static void build_file(struct file *file, const struct fate *fate, const char *path)
{
	struct image image = {.size = 0};
	if (file->built) {
		must(!link(file->built, path));
		return;
	}
	build_image(file, fate, &image);
	image_save(&image, path);
	image_free(&image);
	must((file->built = strdup(path)));
}

static void build_dir(const struct disk *disk, const struct file *dir, const struct fate *whole,
                      const char *path)
{
	struct fate   fate = draw_fate(whole);
	struct names *names = malloc(sizeof *names);
	must(names);
	build_names(dir, &fate, names);
	for (unsigned i = 0; i < names->count; i++) {
		char         inner[512];
		struct stat  st;
		struct file *file = names->at[i].file;
		snprintf(inner, sizeof inner, "%s/%s", path, names->at[i].text);
		fate = draw_fate(whole);
		fate.writing = fate.crash == CRASH_KILL && file == disk->writing &&
		               chance_below(fate.luck, 2);
		if (file->is_dir) {
			must(!mkdir(inner, 0700));
			build_dir(disk, file, whole, inner);
		} else {
			build_file(file, &fate, inner);
		}
		must(!stat(inner, &st));
		recorder_alias((struct file_id){st.st_dev, st.st_ino}, file->said);
	}
	free(names);
}

void disk_build(const struct disk *disk, enum crash crash, uint64_t *luck, const char *path)
{
	struct fate fate = {.crash = crash, .luck = luck};
	must(disk->root);
	recorder_forget_aliases();
	build_dir(disk, disk->root, &fate, path);
	for (unsigned i = 0; i < disk->file_count; i++) {
		free(disk->files[i]->built);
		disk->files[i]->built = NULL;
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind;
	return at->level == 0 ? 0 : remove(path);
}

void directory_clear(const char *path)
{
	must(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}
