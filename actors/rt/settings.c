/* Settings on their way from the supervisor to its processes. Both ends are this program, so numbers are written as they are
 * in memory.
 *
 *   head | words of the command line, each with its NUL | files, one after the other */
#include "actors/rt/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
	uint64_t generation;
	uint32_t word_count, word_bytes;
	uint32_t file_bytes[SETTINGS_FILE_COUNT];
};

void settings_free(struct settings *settings)
{
	if (settings->bytes.at) explicit_bzero(settings->bytes.at, settings->bytes.capacity);
	buffer_free(&settings->bytes);
	*settings = (struct settings){.generation = 0};
}

static enum err write_all(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0) return errno == ENOSPC || errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
	}
	return OK;
}

static enum err write_settings(int fd, struct head *head, const struct option_args *args,
                               const struct span files[SETTINGS_FILE_COUNT])
{
	enum err err;

	for (int i = 0; i < args->argc; i++)
		head->word_bytes += (uint32_t)strlen(args->argv[i]) + 1;
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++)
		head->file_bytes[i] = (uint32_t)files[i].size;
	if ((err = write_all(fd, head, sizeof *head))) return err;
	for (int i = 0; i < args->argc; i++)
		if ((err = write_all(fd, args->argv[i], strlen(args->argv[i]) + 1))) return err;
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++)
		if ((err = write_all(fd, files[i].at, files[i].size))) return err;
	return OK;
}

enum err settings_seal(uint64_t generation, const struct options *options,
                       const struct span files[SETTINGS_FILE_COUNT], int *fd)
{
	struct option_args args = {.argc = 0};
	struct head        head = {.generation = generation};
	enum err           err = ERR_IO;

	options_write(options, &args);
	head.word_count = (uint32_t)args.argc;
	*fd = memfd_create("stampede settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || (err = write_settings(*fd, &head, &args, files))) goto out;
	if (fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)) err = ERR_IO;
out:
	if (err && *fd >= 0) close(*fd);
	if (err) *fd = -1;
	return err;
}

/* Reads the whole file by offset: all descriptors of it share one position. */
static enum err read_file(int fd, struct buffer *bytes)
{
	struct stat st;
	uint8_t    *to;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(struct head)) return ERR_MALFORMED;
	if (!(to = buffer_reserve(bytes, (size_t)st.st_size))) return ERR_NO_MEMORY;
	if (pread(fd, to, (size_t)st.st_size, 0) != st.st_size) return ERR_IO;
	bytes->size = (size_t)st.st_size;
	return OK;
}

static enum err take_apart(struct settings *settings)
{
	struct head head;
	char        why[OPTION_WHY];
	uint8_t    *at = settings->bytes.at + sizeof head;
	size_t      whole = sizeof head;

	memcpy(&head, settings->bytes.at, sizeof head);
	whole += head.word_bytes;
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++)
		whole += head.file_bytes[i];
	if (whole != settings->bytes.size || head.word_count >= OPTION_ARGS_MAX) return ERR_MALFORMED;
	settings->generation = head.generation;
	for (uint32_t i = 0; i < head.word_count; i++) {
		settings->words[i] = (char *)at;
		at += strlen((char *)at) + 1;
	}
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++) {
		settings->files[i] = span_of(at, head.file_bytes[i]);
		at += head.file_bytes[i];
	}
	return options_read((int)head.word_count, settings->words, &settings->options, why) ? ERR_MALFORMED
	                                                                                    : OK;
}

/* ---- the socket ---- */

static enum err failed(void)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return ERR_WOULD_BLOCK;
	return errno == EPIPE || errno == ECONNRESET ? ERR_PEER_GONE : ERR_IO;
}

union control {
	struct cmsghdr head;
	char           room[CMSG_SPACE(sizeof(int))];
};

enum err settings_send(int socket, int fd)
{
	char          byte = 0;
	struct iovec  data = {&byte, 1};
	union control control = {.room = {0}};
	struct msghdr message = {
	    .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *item = CMSG_FIRSTHDR(&message);

	item->cmsg_level = SOL_SOCKET;
	item->cmsg_type = SCM_RIGHTS;
	item->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(item), &fd, sizeof fd);
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? OK : failed();
}

static enum err receive_file(int socket, int *fd)
{
	char          byte;
	struct iovec  data = {&byte, 1};
	union control control = {.room = {0}};
	struct msghdr message = {
	    .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *item;
	ssize_t         n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0) return failed();
	if (n == 0) return ERR_PEER_GONE;
	item = CMSG_FIRSTHDR(&message);
	if (!item || item->cmsg_type != SCM_RIGHTS || item->cmsg_len != CMSG_LEN(sizeof *fd))
		return ERR_MALFORMED;
	memcpy(fd, CMSG_DATA(item), sizeof *fd);
	return OK;
}

enum err settings_receive(int socket, struct settings *settings)
{
	int      fd;
	enum err err;

	*settings = (struct settings){.generation = 0};
	if ((err = receive_file(socket, &fd))) return err;
	if (!(err = read_file(fd, &settings->bytes))) err = take_apart(settings);
	close(fd);
	if (err) settings_free(settings);
	return err;
}

enum err settings_tell_taken(int socket, uint64_t generation)
{
	ssize_t n = send(socket, &generation, sizeof generation, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n == (ssize_t)sizeof generation ? OK : failed();
}

enum err settings_hear_taken(int socket, uint64_t *generation)
{
	ssize_t n = recv(socket, generation, sizeof *generation, MSG_DONTWAIT);

	if (n == (ssize_t)sizeof *generation) return OK;
	return n < 0 ? failed() : ERR_PEER_GONE;
}
