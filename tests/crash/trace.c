/* Reading a trace. The recorder of this program made it, so malformed bytes in the middle are our own bug;
 * only the end may be cut. */
#include "tests/crash/trace.h"

#include "schemas/err.h"

bool trace_next(struct span *left, struct trace_entry *entry)
{
	struct trace_head *head = &entry->head;
	if (left->size < sizeof *head) return false;
	memcpy(head, left->at, sizeof *head);
	must(head->size >= sizeof *head + head->name_size);
	if (left->size < head->size) return false;
	const char *names = (const char *)left->at + sizeof *head;
	must(!head->name_size || !names[head->name_size - 1]);
	entry->name = head->name_size ? names : NULL;
	entry->new_name = head->op == TRACE_RENAME ? names + strlen(names) + 1 : NULL;
	entry->bytes = span_of(names + head->name_size, head->size - sizeof *head - (size_t)head->name_size);
	*left = span_of(left->at + head->size, left->size - head->size);
	return true;
}
