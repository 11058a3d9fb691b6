/* The error and detail of an attempt's end. libcurl reports a code, and OpenSSL's reason inside its message. What neither
 * reports was noted in the attempt earlier. No text from the endpoint is used. */
#include "actors/timer/egress_inside.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

bool is_spent(const struct attempt *attempt)
{
	return (!attempt->is_fetch || attempt->method) && attempt_has_sent(attempt);
}

static bool is_of_beginning(CURLcode code)
{
	return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT;
}

/* libcurl ends a response with a header line of more than 100 KiB as if memory had run out; from 8.6 on with a code of its
 * own. */
static bool has_long_header(const struct attempt *attempt, CURLcode code)
{
	enum { CODE_TOO_LARGE = 100 };

	return attempt->has_request && (code == CURLE_OUT_OF_MEMORY || (int)code == CODE_TOO_LARGE);
}

static enum attempt_error error_of(const struct attempt *attempt, CURLcode code)
{
	if (attempt->overflowed || code == CURLE_FILESIZE_EXCEEDED) return ATTEMPT_TOO_LARGE;
	/* The head of an unsuccessful fetch is a complete result. */
	if (attempt->has_head && (!attempt->is_fetch || attempt->status < 200 || attempt->status > 299))
		return ATTEMPT_NONE;
	/* It wanted to repeat the request: the first connection ended without a response. */
	if (code == CURLE_ABORTED_BY_CALLBACK || (is_spent(attempt) && is_of_beginning(code)))
		return ATTEMPT_RESET;
	switch (code) {
	case CURLE_OK: return attempt->has_head ? ATTEMPT_NONE : ATTEMPT_PROTOCOL;
	case CURLE_OPERATION_TIMEDOUT: return ATTEMPT_TIMEOUT;
	case CURLE_COULDNT_CONNECT: return attempt->lacked ? ATTEMPT_INTERNAL : ATTEMPT_CONNECT;
	case CURLE_COULDNT_RESOLVE_HOST: return ATTEMPT_DNS;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS: return ATTEMPT_TLS;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE: return ATTEMPT_RESET;
	case CURLE_OUT_OF_MEMORY: return has_long_header(attempt, code) ? ATTEMPT_PROTOCOL : ATTEMPT_INTERNAL;
	default: return attempt->lacked ? ATTEMPT_INTERNAL : ATTEMPT_PROTOCOL;
	}
}

/* ---- details ---- */

/* OpenSSL's reason, from "… error:0A00010B:SSL routines::…"; 0: none. */
static int reason_of(const struct attempt *attempt)
{
	static const char before[] = "error:";
	const char       *at = strstr(attempt->fault, before);

	return at ? ERR_GET_REASON(strtoul(at + sizeof before - 1, NULL, 16)) : 0;
}

static enum attempt_detail detail_of_handshake(const struct attempt *attempt)
{
	int reason = reason_of(attempt);

	switch (reason) {
	case 0: /* an error of the system, not of OpenSSL */
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return attempt->was_asked_certificate ? DETAIL_TLS_CLIENT_CERTIFICATE : DETAIL_TLS_RESET;
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST: return DETAIL_TLS_PLAIN;
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_WRONG_SSL_VERSION:
	case SSL_R_VERSION_TOO_LOW:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return DETAIL_TLS_VERSION;
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return DETAIL_TLS_CLIENT_CERTIFICATE;
	default:
		return attempt->was_asked_certificate && reason > SSL_AD_REASON_OFFSET
		           ? DETAIL_TLS_CLIENT_CERTIFICATE
		           : DETAIL_TLS_HANDSHAKE;
	}
}

/* libcurl itself compares the name with an otherwise valid certificate. */
static enum attempt_detail detail_of_tls(const struct attempt *attempt, CURLcode code)
{
	if (attempt->detail) return attempt->detail;
	return code == CURLE_PEER_FAILED_VERIFICATION ? DETAIL_TLS_NAME : detail_of_handshake(attempt);
}

/* By the state of the connection. */
static enum attempt_detail detail_of_timeout(const struct attempt *attempt)
{
	if (attempt->has_request) return DETAIL_RESPONSE_TIMEOUT;
	return attempt->is_plain ? DETAIL_CONNECT_TIMEOUT : DETAIL_TLS_TIMEOUT;
}

/* An end without TLS's closing message counts as orderly: it is as common as one with it. */
static enum attempt_detail detail_of_reset(const struct attempt *attempt, CURLcode code)
{
	bool in_order = code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
	                reason_of(attempt) == SSL_R_UNEXPECTED_EOF_WHILE_READING;

	return in_order ? DETAIL_RESPONSE_CLOSED : DETAIL_RESPONSE_RESET;
}

static enum attempt_detail detail_of(const struct attempt *attempt, enum attempt_error error, CURLcode code)
{
	switch (error) {
	case ATTEMPT_TIMEOUT: return detail_of_timeout(attempt);
	case ATTEMPT_TLS: return detail_of_tls(attempt, code);
	case ATTEMPT_RESET: return detail_of_reset(attempt, code);
	/* An address had accepted, and libcurl found the connection ended when it began. */
	case ATTEMPT_CONNECT: return attempt->detail ? attempt->detail : DETAIL_CONNECT_RESET;
	case ATTEMPT_PROTOCOL:
		return attempt->head_bytes > EGRESS_HEAD_BYTES_MAX || has_long_header(attempt, code)
		           ? DETAIL_RESPONSE_HEAD
		           : DETAIL_RESPONSE_PROTOCOL;
	default: return DETAIL_NONE;
	}
}

/* In TLS 1.3 the client finishes the handshake before the endpoint notices that it has no certificate. */
static bool lacks_certificate(const struct attempt *attempt, enum attempt_error error)
{
	return error == ATTEMPT_RESET && attempt->was_asked_certificate && !attempt->has_head;
}

struct ending ending_of_call(const struct attempt *attempt, CURLcode code)
{
	struct ending ending = {.error = error_of(attempt, code)};

	if (lacks_certificate(attempt, ending.error))
		return (struct ending){ATTEMPT_TLS, DETAIL_TLS_CLIENT_CERTIFICATE};
	ending.detail = detail_of(attempt, ending.error, code);
	return ending;
}

struct ending ending_of_race(const struct attempt *attempt)
{
	if (attempt->lacked) return (struct ending){ATTEMPT_INTERNAL, DETAIL_NONE};
	if (attempt->has_refused && !attempt->has_dialled)
		return (struct ending){ATTEMPT_ADDRESS_REFUSED, DETAIL_EGRESS_REFUSED};
	return (struct ending){ATTEMPT_CONNECT, attempt->detail};
}

struct ending ending_of_time(const struct attempt *attempt)
{
	switch (attempt->state) {
	case WAITING: return (struct ending){ATTEMPT_NOT_STARTED, DETAIL_NONE};
	case LOOKING: return (struct ending){ATTEMPT_TIMEOUT, DETAIL_DNS_SILENT};
	case DIALLING: return (struct ending){ATTEMPT_TIMEOUT, DETAIL_CONNECT_TIMEOUT};
	default: return (struct ending){ATTEMPT_NONE, DETAIL_NONE};
	}
}
