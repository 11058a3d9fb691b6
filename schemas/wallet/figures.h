#pragma once

/* Labels of metrics about wallets, in their order there. A shard's status has a member for each. */
static const char *const wallet_due_labels[] = {"push", "google", "message", "removal"};
static const char *const wallet_platform_labels[] = {"apple", "google"}; /* by enum wallet_kind, from 1 on */
static const char *const push_fate_labels[] = {"done", "retry", "held", "refused", "gone"};
enum {
	WALLET_DUE_LABELS = sizeof wallet_due_labels / sizeof *wallet_due_labels,
	WALLET_PLATFORM_LABELS = sizeof wallet_platform_labels / sizeof *wallet_platform_labels,
	PUSH_FATE_LABELS = sizeof push_fate_labels / sizeof *push_fate_labels
};
