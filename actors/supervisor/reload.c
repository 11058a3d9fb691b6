/* Reads the configuration again.
 *
 *   command line, file ─▶ options ─▶ files they name ─▶ checked ─▶ sealed ─▶ the children
 *
 * Every step before the last arrow may fail, and has changed nothing then. Changes that need a restart are reported and not
 * applied. */
#include "actors/supervisor/reload.h"
#include "actors/rt/log.h"
#include "actors/rt/log_file.h"
#include "actors/rt/time.h"
#include "schemas/date.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void spans_of(const struct files *files, struct span spans[SETTINGS_FILE_COUNT])
{
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++)
		spans[i] = buffer_span(&files->of[i]);
}

static void remember(struct reload *reload, const struct files *files)
{
	reload->has_certificate = files->has_certificate;
	reload->not_before = files->not_before;
	reload->not_after = files->not_after;
	memcpy(reload->digest, files->digest, sizeof reload->digest);
}

/* NULL: valid at `now`. */
static const char *time_fault(const struct files *files, wall_us now)
{
	if (!files->has_certificate) return NULL;
	if (now.v >= files->not_after.v) return "has expired";
	return now.v < files->not_before.v ? "is not valid yet" : NULL;
}

/* Readable by its group is allowed: some hosts share a key among services that way. */
static void look_at_mode(const char *path)
{
	struct stat st;

	if (path && !stat(path, &st) && st.st_mode & S_IRWXO)
		log_warn("tls_key_exposed", "option=--tls-key file=\"%s\" mode=%04o wanted=0600", path,
		         st.st_mode & 07777);
}

enum err reload_open(struct reload *reload, const struct options *options, struct files *files, wall_us now)
{
	struct files_refusal refusal;
	char                 end[RFC3339_TEXT];
	enum err             err = files_read(options, files, &refusal);

	*reload = (struct reload){.at_start = *options, .now = *options};
	if (err) {
		log_fatal("bad_certificate", "option=%s file=\"%s\" error=\"%s\"", refusal.option,
		          refusal.path, refusal.reason);
		return err;
	}
	remember(reload, files);
	look_at_mode(options->tls_key);
	if (!time_fault(files, now)) return OK;
	/* To serve no client would be worse. */
	rfc3339_text(files->not_after, end);
	log_warn("certificate_not_valid", "file=\"%s\" reason=\"%s\" not_after=%s", options->tls_cert,
	         time_fault(files, now), end);
	return OK;
}

static void add(void *user, const char *name)
{
	struct reload_names *names = user;

	if (names->count < RELOAD_NAMES_MAX) names->of[names->count++] = name;
}

/* A listener is bound with or without TLS for its life, and links contain the scheme. True: the names stay those of `now`. */
static bool keep_scheme(const struct options *now, struct options *fresh, struct reload_names *needs_restart)
{
	if (!now->tls_cert == !fresh->tls_cert) return false;
	fresh->tls_cert = now->tls_cert;
	fresh->tls_key = now->tls_key;
	add(needs_restart, "tls-cert");
	add(needs_restart, "tls-key");
	return true;
}

/* Takes the text of the options now in use, and frees what nothing borrows from any more. */
static void keep_text(struct reload *reload, struct options *fresh, bool has_old_tls)
{
	char *before = reload->text;

	reload->text = fresh->config_text;
	fresh->config_text = NULL;
	if (!has_old_tls) {
		free(reload->tls_text);
		reload->tls_text = NULL;
	} else if (!reload->tls_text) {
		reload->tls_text = before;
		before = NULL;
	}
	free(before);
}

static enum err judge_files(const struct reload *reload, const struct options *fresh, struct files *files,
                            wall_us now, struct reload_outcome *outcome)
{
	struct files_refusal refusal = {"", "", ""};
	const char          *fault;
	char                 end[RFC3339_TEXT];
	enum err             err = files_read(fresh, files, &refusal);

	if (err) {
		snprintf(outcome->why, sizeof outcome->why, "%s %.120s: %s.", refusal.option, refusal.path,
		         refusal.reason);
		return err;
	}
	outcome->has_new_certificate = files->has_certificate &&
	                               memcmp(files->digest, reload->digest, sizeof files->digest) != 0;
	if (!outcome->has_new_certificate || !(fault = time_fault(files, now))) return OK;
	rfc3339_text(files->not_after, end);
	snprintf(outcome->why, sizeof outcome->why, "--tls-cert %.120s: the certificate %s (not after %s).",
	         fresh->tls_cert, fault, end);
	return ERR_BAD_OPTION;
}

/* What came through a pipe at the start gives nothing when it is opened again. */
static enum err read_options(const struct reload *reload, struct options *fresh,
                             struct reload_outcome *outcome)
{
	enum err err = options_read(reload->at_start.argc, reload->at_start.argv, fresh, outcome->why);

	if (!fresh->config_is_dry || reload->at_start.config_is_dry) return err;
	snprintf(outcome->why, sizeof outcome->why,
	         "The configuration came through a pipe, which can be read only once.");
	return err == ERR_NO_MEMORY ? err : ERR_BAD_OPTION;
}

/* http reports a fault of the log in use; it does not block other changes. */
static enum err judge_access_log(const struct options *now, const struct options *fresh,
                                 struct reload_outcome *outcome)
{
	const char *path = fresh->access_log;

	if (!path || !strcmp(path, "-") || (now->access_log && !strcmp(path, now->access_log))) return OK;
	if (log_file_check(path)) return OK;
	snprintf(outcome->why, sizeof outcome->why, "--access-log %.120s: %s.", path, log_file_error(errno));
	return ERR_BAD_OPTION;
}

enum err reload_again(struct reload *reload, struct children *children, wall_us now,
                      struct reload_outcome *outcome)
{
	struct options fresh;
	struct files   files = {.has_certificate = false};
	struct span    spans[SETTINGS_FILE_COUNT];
	bool           has_old_tls;
	enum err       err;

	*outcome = (struct reload_outcome){.why = "The settings cannot be handed on."};
	if ((err = read_options(reload, &fresh, outcome))) goto out;
	if ((err = options_fit(&fresh, outcome->why))) goto out;
	has_old_tls = keep_scheme(&reload->now, &fresh, &outcome->needs_restart);
	options_compare(&reload->now, &fresh, true, add, &outcome->changed);
	options_compare(&reload->at_start, &fresh, false, add, &outcome->needs_restart);
	if ((err = judge_files(reload, &fresh, &files, now, outcome))) goto out;
	if ((err = judge_access_log(&reload->now, &fresh, outcome))) goto out;
	spans_of(&files, spans);
	if ((err = children_settle(children, &fresh, spans))) goto out;
	remember(reload, &files);
	options_adopt(&reload->now, &fresh);
	log_set_level(fresh.log_level);
	keep_text(reload, &fresh, has_old_tls);
out:
	files_free(&files);
	options_free(&fresh);
	return err;
}

static const char *list(const struct reload_names *names, char text[512])
{
	size_t size = 0;

	text[0] = 0;
	for (unsigned i = 0; i < names->count; i++) {
		int more = snprintf(text + size, 512 - size, "%s%s", i ? "," : "", names->of[i]);
		if (more < 0 || size + (size_t)more >= 512) break;
		size += (size_t)more;
	}
	return text;
}

enum err reload_run(struct reload *reload, struct children *children, struct reload_outcome *outcome)
{
	char     text[512];
	enum err err = reload_again(reload, children, time_wall(), outcome);

	if (err) {
		log_warn("reload_refused", "code=%s reason=\"%s\"", err_code(err), outcome->why);
		return err;
	}
	log_info("reloaded", "generation=%llu changed=\"%s\" certificate=%s",
	         (unsigned long long)children->generation, list(&outcome->changed, text),
	         !reload->has_certificate       ? "none"
	         : outcome->has_new_certificate ? "new"
	                                        : "same");
	if (outcome->has_new_certificate) look_at_mode(reload->now.tls_key);
	if (outcome->needs_restart.count)
		log_warn("restart_needed",
		         "options=\"%s\" reason=\"they cannot change while the service runs\"",
		         list(&outcome->needs_restart, text));
	return OK;
}

void reload_close(struct reload *reload)
{
	free(reload->text);
	free(reload->tls_text);
	reload->text = reload->tls_text = NULL;
}
