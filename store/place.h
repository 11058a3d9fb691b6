#pragma once
#include "store/segment.h"
#include "store/store.h"

/* A shard's place on disk: journal/, db/, trust. Tables that are missing or not to be believed are made anew in
 * db.new/, which takes the place of db/ only when they are complete: until then nothing old is touched, and an
 * interrupted attempt is simply begun again. Errors: ERR_IO. */

/* Decides what becomes of the tables; changes nothing. *anew: they are to be made from the journal.
 * Errors: ERR_DAMAGED (report->what): the journal is missing, or not whole: even good tables are then refused,
 * because nothing could be made of it once they are lost. */
must_check enum err place_judge(const struct store_place *place, const struct journal_dir *dir,
                                struct store_report *report, bool *anew);

/* Opens the directory of the tables for LMDB, ready to be written to: db/ with its mark, or an empty db.new/. */
must_check enum err place_open_tables(int place_fd, bool anew, int *db_fd);

/* db.new/ becomes db/, with its mark. Its descriptor stays right. */
must_check enum err place_adopt_tables(int place_fd);

/* A directory in `parent`, made if need be, durably. */
must_check enum err place_open_dir(int parent, const char *name, int *fd);
