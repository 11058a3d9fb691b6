/* A store that does not listen, for the controls: parts of it are built again with these in the place of the calls
 * they stand for. Whatever fails, they say that all is well; then the n-th failure must find something. */
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
