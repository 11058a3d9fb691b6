/* The metrics made of a shard's answer. */
#include "http/shard_metrics.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static msgpack_object parsed(const struct buffer *bytes, msgpack_unpacked *whole)
{
	msgpack_unpacked_init(whole);
	must(msgpack_unpack_next(whole, (const char *)bytes->at, bytes->size, NULL) ==
	     MSGPACK_UNPACK_SUCCESS);
	return whole->data;
}

/* A customer chooses the host name, of up to 253 bytes. */
Test(shard_metrics, an_endpoint_may_have_the_longest_host_name)
{
	char name[254], line[512];
	memset(name, 'a', sizeof name - 1);
	name[63] = name[127] = name[191] = '.';
	name[253] = 0;
	struct buffer  status = {0}, out = {0};
	msgpack_packer pk = buffer_packer(&status);
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "failing_subscriptions");
	msgpack_pack_array(&pk, 1);
	msgpack_pack_map(&pk, 3);
	pack_text(&pk, "subscription_id");
	pack_text(&pk, "0192f0c1-2345-7abc-8def-0123456789ab");
	pack_text(&pk, "endpoint");
	snprintf(line, sizeof line, "%s:65535", name);
	pack_text(&pk, line);
	pack_count(&pk, "retries", UINT32_MAX);

	msgpack_unpacked     whole;
	msgpack_object       map = parsed(&status, &whole);
	struct shard_numbers numbers;
	shard_numbers_take(&numbers, &map);
	shard_numbers_render(&numbers, 1, &out);
	buffer_byte(&out, 0);
	cr_assert_not(out.failed);
	snprintf(
	    line, sizeof line,
	    "stampede_delivery_retries{shard=\"0\",subscription=\"0192f0c1-2345-7abc-8def-0123456789ab\","
	    "endpoint=\"%s:65535\"} 4294967295\n",
	    name);
	cr_assert_not_null(strstr((char *)out.at, line), "%s", (char *)out.at);
	msgpack_unpacked_destroy(&whole);
	buffer_free(&status);
	buffer_free(&out);
}
