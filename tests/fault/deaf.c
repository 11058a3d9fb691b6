/* A store that ignores failures, for the controls: parts of it are rebuilt with these functions instead of
 * the real calls. They report success whatever fails, so the test of the n-th failure must find a fault. */
#include <lmdb.h>
#include <unistd.h>

int deaf_fdatasync(int fd);
int deaf_mdb_txn_commit(MDB_txn *txn);

int deaf_fdatasync(int fd)
{
	int heard = fdatasync(fd);
	(void)heard;
	return 0;
}

int deaf_mdb_txn_commit(MDB_txn *txn)
{
	int heard = mdb_txn_commit(txn);
	(void)heard;
	return 0;
}
